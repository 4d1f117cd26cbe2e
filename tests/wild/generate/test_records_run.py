"""What comes of a folder of dialogues: a file that the checks accept and the oracle solves, a page to read, a
person's word."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentgauge.cli.main import main
from agentgauge.core.errors import DataProblem, UsageProblem
from bench_wild.generate.dialogue.dialogue import DIALOGUES, Dialogue, Language
from bench_wild.generate.evaluation.records import accept, main_records, write_records
from tests.plugin.project import run_wild, summary
from tests.wild.generate.talks import Task, chat, clarify, dialogue, find, mixed, parallel, serial, single

pytestmark = pytest.mark.slow

SESSIONS = Path("wild") / "Wild-Tool-Bench.jsonl"
SAID: dict[Language, str] = {
    "en": "Number {}: Ines Duarte, ORD-1001, ORD-1002.",
    "zh": "第{}件事：Ines Duarte，ORD-1001，ORD-1002。",
}


def talks(language: Language = "en") -> list[Dialogue]:
    """Every type and structure, in an order that is not the sequences'."""
    said = iter(SAID[language].format(number) for number in range(100))
    return [
        dialogue(
            chat(next(said)), clarify(next(said)), mixed(next(said)), single(next(said)), language=language, seed=1
        ),
        dialogue(
            single(next(said)), parallel(next(said)), clarify(next(said)), chat(next(said)), language=language, seed=2
        ),
        dialogue(
            serial(next(said)), single(next(said)), parallel(next(said)), mixed(next(said)), language=language, seed=3
        ),
    ]


def folder(path: Path, dialogues: list[Dialogue]) -> Path:
    path.mkdir(exist_ok=True)
    (path / DIALOGUES).write_text(
        "".join(json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in dialogues), encoding="utf-8"
    )
    return path


def records(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / SESSIONS).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return folder(tmp_path / "made", talks())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_oracle_solves_generated_records(language, tmp_path):
    out = folder(tmp_path / "made", talks(language))
    assert write_records(out).sessions == 3
    assert main(["data", "check", "wild", "--data", str(out), "--wild-language", language]) == 0
    result = run_wild("--model", "oracle", f"--data={out}", "--wild-language", language, "--run-dir=run", cwd=tmp_path)
    assert "12 passed" in result.output
    assert "3 sessions, first 'wild_tool_bench_0': generated, and not verified by a person" in result.output
    assert summary(tmp_path / "run")["tasks"]["wild"]["metrics"]["Session"]["value"] == 100
    assert "**Not comparable:** 3 sessions, first" in (tmp_path / "run" / "leaderboard.md").read_text(encoding="utf-8")


def test_chinese_records_alone_are_checked_anyway_but_run_in_chinese_only(tmp_path, capsys):
    out = folder(tmp_path / "made", talks("zh"))
    write_records(out)
    assert main(["data", "check", "wild", "--data", str(out)]) == 0
    assert "session 'wild_tool_bench_2': findOrders.customer has no description" in capsys.readouterr().out
    result = run_wild("--model=oracle", f"--data={out}", "--run-dir=run", cwd=tmp_path, status=4)
    assert "has no session in the language en; give --wild-language zh" in result.output


def test_the_order_is_that_of_the_sequences_and_ids_are_line_numbers(out):
    write_records(out)
    first = (out / SESSIONS).read_bytes()
    assert [one["id"] for one in records(out)] == [f"wild_tool_bench_{number}" for number in range(3)]
    assert [one["generated"]["sequence"] for one in records(out)] == ["ST-MT-CQ-CC", "MT-ST-MT-MT", "CC-CQ-MT-ST"]
    folder(out, talks()[::-1])
    write_records(out)
    assert (out / SESSIONS).read_bytes() == first


def test_what_becomes_no_record_is_named_and_takes_no_line(out, capsys):
    unfinished = dialogue(single("a"), single("b"), single("c"), Task("ST", "d").call(find()), seed=8)
    wrong = dialogue(
        single("e"), single("f"), single("g"), Task("ST", "h").call(("getOrder", {"order": "x"}, {})).say("i"), seed=9
    )
    summary = write_records(folder(out, [*talks(), unfinished, wrong]))
    assert [one["id"] for one in records(out)] == [f"wild_tool_bench_{number}" for number in range(3)]
    assert summary.left_out[0] == "dialogue ST-ST-ST-ST (seed 8): task 4 ends where a final answer should come"
    assert summary.left_out[1].startswith("dialogue ST-ST-ST-ST (seed 9): task 4: no path that the evaluator accepts")
    assert summary.lines()[2] == f"no record: {summary.left_out[0]}"
    assert "These dialogues became no record." in (out / "review.md").read_text()


def test_many_dialogues_without_a_record_are_told_in_few_lines(tmp_path):
    short = [dialogue(single(), seed=number) for number in range(40)]
    told = write_records(folder(tmp_path / "made", short)).lines()
    assert told[0].startswith("0 sessions in ")
    assert told[-1] == f"no record: 35 more dialogues, see {tmp_path / 'made' / 'review.md'}"
    assert len(told) == 8


def test_doubts_are_counted_and_shown(out):
    twice = dialogue(chat("Say it."), chat("Say it."), chat("Why is it so?"), chat("So what?"))
    summary = write_records(folder(out, [twice]))
    assert (summary.sessions, summary.doubts) == (1, 1)
    assert (
        "- task 2: the user's words are those of task 1 of wild_tool_bench_0 \\[duplicate\\]"
        in (out / "review.md").read_text()
    )


def test_a_session_that_exists_already_is_a_doubt(out, tmp_path):
    write_records(out, against=[])
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes((out / SESSIONS).read_bytes())
    assert write_records(out, against=[]).doubts == 0
    assert write_records(out, against=[kept]).doubts == 3
    assert (
        "the session shares 100% of its n-grams with wild_tool_bench_1 of kept.jsonl" in (out / "review.md").read_text()
    )


# -- a person's word


def test_accepted_sessions_lose_the_mark_and_stay_as_they_are_left(out, capsys):
    write_records(out)
    lines = records(out)
    lines[1]["english_tasks"][0] = "Mended by a person."
    (out / SESSIONS).write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert main(["generate", "accept", str(out), "--sessions", "1-2"]) == 0
    assert capsys.readouterr().out == "2 of 3 sessions are accepted, 1 unverified\n"
    assert [one.get("unverified") for one in records(out)] == [True, None, None]
    # a further dialogue comes before them
    summary = write_records(
        folder(out, [*talks(), dialogue(single("p"), single("q"), single("r"), single("s"), seed=5)])
    )
    assert (summary.sessions, summary.unverified) == (4, 2)
    assert [one["english_tasks"][0] for one in records(out)][2] == "Mended by a person."
    assert [one["id"] for one in records(out)] == [f"wild_tool_bench_{number}" for number in range(4)]


def test_an_accepted_session_is_never_dropped(out):
    write_records(out)
    accept(out, "0")
    folder(out, talks()[:1])  # its dialogue is gone
    assert write_records(out).sessions == 2
    assert records(out)[0]["generated"]["sequence"] == "ST-MT-CQ-CC"
    lines = records(out)
    del lines[0]["english_tasks"][0]
    (out / SESSIONS).write_text("".join(json.dumps(one) + "\n" for one in lines))
    before = (out / SESSIONS).read_bytes()
    with pytest.raises(
        DataProblem,
        match=r"accepted session of dialogue ST-MT-CQ-CC \(seed 2\) .* cannot be run any more: english_tasks",
    ):
        write_records(out)
    assert (out / SESSIONS).read_bytes() == before


def test_a_line_that_is_no_json_is_named(out):
    write_records(out)
    (out / SESSIONS).write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(DataProblem, match=r"Wild-Tool-Bench.jsonl, line 1: is not JSON"):
        accept(out, "0")


@pytest.mark.parametrize("line", ['{"id": "wild_tool_bench_3"}', "[]", "7"])
def test_a_line_of_somebody_else_is_never_dropped(out, line):
    write_records(out)
    with (out / SESSIONS).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    before = (out / SESSIONS).read_bytes()
    with pytest.raises(
        DataProblem, match=r"session 4 is none of these dialogues and would be lost|line 4: is not a JSON object"
    ):
        write_records(out)
    assert (out / SESSIONS).read_bytes() == before


def test_a_result_that_is_nested_without_end_becomes_no_record(tmp_path):
    deep = "@deep@"
    told = [single(), parallel(), clarify(), Task("ST", "Again?").call(find(result=deep)).say("Done.")]
    out = folder(tmp_path / "made", [*talks(), dialogue(*told, seed=9)])
    file = out / DIALOGUES
    file.write_text(file.read_text(encoding="utf-8").replace('\\"@deep@\\"', "[" * 900 + "]" * 900), encoding="utf-8")
    made = write_records(out)
    assert made.sessions == 3
    assert made.left_out == (
        "dialogue ST-MT-CQ-ST (seed 9): task 4 has a value of more than 100 lists or objects in one another",
    )


@pytest.mark.parametrize("words", [["records"], ["accept", "--sessions", "all"]])
def test_a_full_disk_is_told_in_a_sentence_and_the_records_stay(out, words, capsys, monkeypatch):
    write_records(out)
    before = (out / SESSIONS).read_bytes()

    def full(path: Path, _content: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr("bench_wild.generate.evaluation.records.write_whole", full)
    assert main(["generate", *words, str(out)]) == 4
    assert "made cannot be written (No space left on device); free disk space" in capsys.readouterr().err
    assert (out / SESSIONS).read_bytes() == before


def test_a_folder_without_dialogues_is_refused_and_left_alone(tmp_path, capsys):
    assert main(["generate", "records", str(tmp_path / "typo")]) == 4
    assert "typo has no dialogues.jsonl; give the output folder" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_run_on_accepted_sessions_says_so(out, tmp_path):
    write_records(out)
    assert accept(out, "all") == (3, 0)
    result = run_wild("--model=oracle", f"--data={out}", "--run-dir=run", cwd=tmp_path)
    assert "generated, and accepted by a person" in result.output
    assert "not verified by a person" not in result.output


@pytest.mark.parametrize(
    ("sessions", "problem"),
    [
        ("one", "'one' is neither a number nor a range; write 0,3-7 or all"),
        ("0,", "'' is neither a number nor a range"),
        ("0,3", "'3' is outside of the sessions 0 to 2"),
        ("2-1", "'2-1' is outside of the sessions 0 to 2"),
        ("9" * 5000, "is neither a number nor a range"),
        ("²", "'²' is neither a number nor a range"),
        ("0-99999999999999", "'0-99999999999999' is outside of the sessions 0 to 2"),
    ],
)
def test_numbers_that_there_are_not_are_refused(sessions, problem, out):
    write_records(out)
    with pytest.raises(UsageProblem) as found:
        accept(out, sessions)
    assert problem in str(found.value)
    assert all(one["unverified"] for one in records(out))


def test_a_session_that_was_broken_is_not_accepted(out):
    write_records(out)
    lines = records(out)
    lines[0]["english_answer_list"][0][0]["dependency_list"] = [9]
    (out / SESSIONS).write_text("".join(json.dumps(one) + "\n" for one in lines))
    with pytest.raises(DataProblem, match=r"session 0 of .* cannot be accepted: .*names 9"):
        accept(out, "0")


def test_without_records_there_is_nothing_to_accept(tmp_path):
    with pytest.raises(DataProblem, match="generate sessions first"):
        accept(tmp_path, "0")


def test_records_are_made_anew_by_a_command(out, capsys):
    assert main_records(["records", str(out)]) == 0
    assert capsys.readouterr().out.startswith(f"3 sessions in {out / SESSIONS}, 3 of them unverified, 0 doubts\n")


# -- the page


def test_the_page_has_dialogue_and_gold_side_by_side(out):
    write_records(folder(out, [talks()[1]]))
    page = (out / "review.md").read_text()
    assert "## Session 0" in page
    assert "### Task 3: Clarify · Coreferential Reference (short_name)" in page
    assert "| **User:** Number 5: Ines Duarte, ORD-1001, ORD-1002. | |" in page
    asked = '`{"tool_name": "getOrder", "missing_required_parameters": ["order_id"]}`'
    assert f"| **Assistant:** Which order is it? | **0**: `ask_user_for_required_parameters`<br>{asked} |" in page
    assert '| **1** after 0: `getOrder`<br>`{"order_id": "ORD-3003"}` |' in page
    assert page.count("- [ ] accept") == 1


def test_a_models_words_are_no_mark_up_of_the_page(out):
    nasty = "# Hi | <script>alert(1)</script>\n- [x] accept `this` **now**"
    write_records(folder(out, [dialogue(chat(nasty), chat("b"), chat("c"), chat("d"))]))
    page = (out / "review.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith("| **User:** \\# Hi"))
    assert row == (
        "| **User:** \\# Hi \\| &lt;script&gt;alert(1)&lt;/script&gt;<br>"
        "- \\[x\\] accept \\`this\\` \\*\\*now\\*\\* | |"
    )
    assert "- [x] accept" not in page
