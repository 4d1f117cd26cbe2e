"""``--model`` more than once: as many runs, each as if it were alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from agentgauge.core.registry import Registry
from tests.model.fault_server import FaultServer, answer, status
from tests.plugin.conftest import say, slow
from tests.plugin.project import PYTEST, Project, interrupt, python, records, run_gta, summary, without_times
from tests.plugin.test_services import CASES, CONFTEST, SERVER_TOOL_SERVERS, wait_for
from tests.plugin.test_stopping import write
from tests.plugin.toy import TOY
from tests.several.conftest import SAMPLES, tables

pytestmark = pytest.mark.slow

BOTH = ("--model=slow", "--model=slower", "--run-dir=out")
SCRIPT = {"replies": {"*": ["word1"]}}


def run_json(folder: Path) -> dict:
    return json.loads((folder / "run.json").read_text())


def begun(project: Project, *names: str) -> bool:
    """Whether each of the runs has a record."""
    return all(any(file.stat().st_size for file in (project.path / "out" / name).glob("records/*")) for name in names)


def processes(project: Project) -> list[str]:
    """The processes that work in a project's folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # it has ended, or is another user's
            if path.readlink() == project.path.resolve():
                found.append(path.parent.name)
    return found


def test_three_models_in_one_command_equal_three_runs(project):
    (project.path / "script.json").write_text(json.dumps(SCRIPT))
    models = {"oracle": "oracle", "baseline": "baseline", "script": "scripted:script.json"}
    together = project.run(*(f"--model={model}" for model in models.values()), "--run-dir=out", "-n", "2")
    assert together.status == 0, together.output
    for name, model in models.items():
        alone = project.run(f"--model={model}", f"--run-dir=alone/{name}")
        assert alone.status == 0, alone.output
        one, other = project.path / "out" / name, project.path / "alone" / name
        assert without_times(summary(one)) == without_times(summary(other))
        assert (one / "leaderboard.md").read_bytes() == (other / "leaderboard.md").read_bytes()
        assert run_json(one)["settings"] == run_json(other)["settings"]
        assert run_json(one)["configs"] == run_json(other)["configs"]


@pytest.mark.uses("gates", "view")
def test_the_end_has_a_row_for_each_model_the_best_first(project):
    from agentgauge_reports.view.runs import Runs

    result = project.run("--model=baseline", "--model=oracle", "--run-dir=out", "--gate=toy.say.Acc>=50")
    assert result.status == 1, result.output
    lines = result.output.splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("run "))
    assert lines[head].split() == ["run", "Toy", "95", "%", "broken", "tokens"]
    assert [line.split()[:2] for line in lines[head + 1 : head + 3]] == [["oracle", "100.00"], ["baseline", "0.00"]]
    gates = next(place for place, line in enumerate(lines) if line.startswith("run       gate"))
    assert [line.split()[:2] for line in lines[gates + 1 : gates + 3]] == [["baseline", "fails"], ["oracle", "holds"]]
    assert "baseline: exit status 1, see out/logs/baseline.log" in lines
    board = (project.path / "out" / "leaderboard.md").read_text()
    assert board.index("| **oracle** | 100.00 |") < board.index("| **baseline** | 0.00 |")
    assert Runs(project.path / "out", Registry([TOY])).names() == ["baseline", "oracle"]  # of `agentgauge view`
    page = (project.path / "out" / "comparison.html").read_text()
    assert "baseline/report.html" in page and "oracle/report.html" in page


def test_why_pytest_refuses_is_at_the_end(project):
    words = ("--model=baseline", "--model=oracle", "--run-dir=out", "--limit=1")
    result = project.run(*words, "test_nowhere.py")
    assert result.status == 4, result.output
    for name in ("baseline", "oracle"):
        assert f"{name}: exit status 4, ERROR: file or directory not found: test_nowhere.py" in result.output
    assert project.run(*words).status == 0  # nothing has begun in the folder


def test_a_run_that_cannot_be_made_does_not_disturb_the_others(project, two):
    two[1].script, two[1].choose = [status(400, "no such model")], None
    result = project.run(*BOTH)
    assert result.status == 1, result.output
    assert summary(project.path / "out" / "slow")["tasks"]["toy.say"]["broken"] == 0
    assert summary(project.path / "out" / "slower")["tasks"]["toy.say"]["broken"] == SAMPLES
    assert "slower: exit status 1, see out/logs/slower.log" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model=oracle", "--model=no-such"), "unknown model 'no-such'"),
        (("--model=oracle", "--model=oracle"), "--model=oracle is given twice; give each model once"),
        (("--model=oracle", "--model=m", "--model-url=http://x/v1"), "--model oracle is built in"),
        (("--model=a", "--model=b", "--model-url=x:1"), "'x:1' is not an address of a model endpoint; write http://"),
        pytest.param(
            ("--model=oracle", "--model=baseline", "--record=c"),
            "--record and several models cannot be used together",
            marks=pytest.mark.uses("recording"),
        ),
        (("--model=oracle", "--model=baseline", "--resume=c"), "--resume=c goes on with the models of that folder"),
        pytest.param(
            ("--model=oracle", "--model=baseline", "--budget=5"),
            "--budget '5' cannot be read",
            marks=pytest.mark.uses("budget"),
        ),
    ],
)
def test_what_several_models_cannot_have_is_refused_in_a_sentence(project, words, said):
    result = project.run(*words)
    assert result.status == 4 and said in result.output
    assert not (project.path / "runs").exists()


def test_a_folder_that_holds_runs_is_not_written_again(project):
    words = ("--model=oracle", "--model=baseline", "--run-dir=out", "--limit=1")
    assert project.run(*words).status == 0
    result = project.run(*words)
    assert result.status == 4
    assert "out already holds runs of several models; continue with --resume=out" in result.output


def test_the_model_of_the_command_line_counts_not_that_of_the_settings(project):
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = --model=baseline\n")
    assert project.run("--model=oracle", "--run-dir=one").status == 0
    assert run_json(project.path / "one")["settings"]["model"]["name"] == "oracle"
    assert project.run("--model=oracle", "--agentgauge-model=baseline", "--run-dir=two", "-n", "2").status == 0
    assert sorted(path.name for path in (project.path / "two").glob("*/run.json")) == ["run.json"] * 2


@pytest.mark.uses("allure")
def test_all_models_leave_allures_results_in_one_folder_and_others_in_one_for_each(project):
    """It is cleaned once, and not by each of them."""
    (project.path / "allure").mkdir()
    (project.path / "allure" / "old-result.json").write_text("{}")
    words = ("--alluredir", "allure", "--clean-alluredir", "--junitxml=junit.xml")
    assert project.run("--model=oracle", "--model=baseline", "--run-dir=out", *words).status == 0
    found = [json.loads(path.read_text()) for path in (project.path / "allure").glob("*-result.json")]
    models = [one["value"] for result in found for one in result["labels"] if one["name"] == "model"]
    assert Counter(models) == {"oracle": SAMPLES, "baseline": SAMPLES}
    assert len({result["testCaseId"] for result in found}) == SAMPLES
    assert len({result["historyId"] for result in found}) == 2 * SAMPLES
    for name in ("oracle", "baseline"):
        assert f'tests="{SAMPLES}"' in (project.path / name / "junit.xml").read_text()


def test_models_at_one_host_share_the_concurrent_requests(project):
    with FaultServer(choose=say) as one, FaultServer(choose=say) as other:
        tables(project, a=one.url, b=one.url, c=other.url)
        result = project.run("--model=a", "--model=b", "--model=c", "--in-flight=5", "--run-dir=out")
    assert result.status == 0, result.output
    found = {name: run_json(project.path / "out" / name)["settings"]["in_flight"] for name in "abc"}
    assert found == {"a": 3, "b": 2, "c": 5}


def test_rates_hold_over_all_runs(project):
    asked = []

    def choose(seen):
        asked.append(time.monotonic())
        return say(seen)

    with FaultServer(choose=choose) as endpoint:
        table = f'model = "m"\nurl = "{endpoint.url}"\nrequests_per_minute = 600\n'
        (project.path / "agentgauge.toml").write_text(f"[models.a]\n{table}[models.b]\n{table}")
        result = project.run("--model=a", "--model=b", "--run-dir=out", "-n", "2")
    assert result.status == 0, result.output
    assert len(asked) == 2 * SAMPLES
    seconds = (len(asked) - 1) * 60 / 600  # half of it, if each run had the rate for itself
    assert max(asked) - min(asked) >= 0.75 * seconds  # connecting may keep the first request
    assert not (project.path / "out" / "rates").exists()


# -- stopped early


def spent(project: Project) -> int:
    """Tokens of both runs."""
    used = [summary(project.path / "out" / name)["usage"] for name in ("slow", "slower")]
    return sum(one["prompt_tokens"] + one["completion_tokens"] for one in used)


@pytest.mark.parametrize(("budget", "workers"), [("150tok", ()), ("0.0015usd", ("-n", "2"))])
@pytest.mark.uses("budget")
def test_a_budget_is_for_all_together_and_what_runs_stays_within_it(project, two, budget, workers):
    result = project.run(*BOTH, "--in-flight=8", f"--budget={budget}", *workers)
    assert result.status == 1, result.output
    assert f"stopped early: the budget of {budget} is used up; continue with pytest --resume=out" in result.output
    assert spent(project) == 150
    assert not (project.path / "out" / "budget").exists()
    assert project.run("--resume=out").status == 0
    for name in ("slow", "slower"):
        assert summary(project.path / "out" / name)["tasks"]["toy.say"]["missing"] == 0


@pytest.mark.uses("budget")
def test_a_resumed_group_does_not_pay_again_for_what_unfinished_cases_had_used(project, two):
    write(project.path, cases=4)  # of three requests of 15 tokens
    ended = threading.Event()

    def choose(seen):
        def later(connection, seen, stopped):
            while not (ended.is_set() or stopped.wait(0.02)):
                pass

        return later if seen.body["messages"][-1]["content"].startswith("turn 2") else answer("yes")

    two[0].choose = two[1].choose = choose
    first = subprocess.Popen([sys.executable, *PYTEST, "turns.py", *BOTH], cwd=project.path, env=project.environment())
    wait_for(lambda: all(len(server.requests) == 12 for server in two))
    interrupt(first)
    assert first.wait(timeout=60) == 2
    ended.set()
    assert spent(project) == 2 * 4 * 30
    two[0].choose = two[1].choose = slow(0.2)
    words = ("--resume=out", "--in-flight=1", "--budget=400tok")  # of which all cases use 360
    again = python(*PYTEST, "turns.py", *words, cwd=project.path)
    assert again.status == 0, again.output


@pytest.mark.uses("budget")
def test_a_budget_of_dollars_needs_the_prices_of_all_models(project, two):
    table = f'\n[models.unknown]\nmodel = "m"\nurl = "{two[0].url}"\n'
    with (project.path / "agentgauge.toml").open("a") as settings:
        settings.write(table)
    result = project.run("--model=slow", "--model=unknown", "--run-dir=out", "--budget=1usd")
    assert result.status == 4 and "--budget 1usd needs the prices of unknown" in result.output
    assert not two[0].requests
    free = project.run("--model=slow", "--model=oracle", "--run-dir=out", "--budget=1usd")
    assert free.status == 0, free.output


def test_several_models_behind_one_gateway(project, two):
    (gateway, other), option = two, f"--model-url={two[0].url}"
    words = [option, "--", "test_toy.py"]
    result = project.run("--model=a/one", "--model=two", "--model=slower", "--run-dir=out", "--limit=2", *words)
    assert result.status == 0, result.output
    assert {seen.body["model"] for seen in gateway.requests} == {"a/one", "two", "m"} and not other.requests
    assert {one["name"] for one in json.loads((project.path / "out/several.json").read_text())["members"]} == {
        "one",
        "two",
        "slower",
    }
    assert project.run("--resume=out").status == 0


@pytest.mark.parametrize(
    ("number", "group"), [(signal.SIGINT, True), (signal.SIGTERM, False)], ids=["Ctrl-C", "SIGTERM"]
)
def test_a_signal_ends_all_runs_and_all_go_on(project, two, number, group):
    process = project.start(*BOTH, "--in-flight=1")
    wait_for(lambda: begun(project, "slow", "slower"))
    interrupt(process, number, group=group)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    assert "stopped early: interrupted; continue with pytest --resume=out" in output
    before = {name: records(project.path / "out" / name) for name in ("slow", "slower")}
    assert all(0 < len([one for one in found if one["status"] != "missing"]) < SAMPLES for found in before.values())
    asked = [len(server.requests) for server in two]
    result = project.run("--resume=out")
    assert result.status == 0, result.output
    for server, asked_before, found in zip(two, asked, before.values(), strict=True):
        kept = len([one for one in found if one["status"] != "missing"])
        assert len(server.requests) - asked_before <= SAMPLES - kept
    alone = project.run("--model=slow", "--run-dir=alone")
    assert alone.status == 0
    assert without_times(summary(project.path / "out" / "slow")) == without_times(summary(project.path / "alone"))


def test_runs_end_with_a_launcher_that_is_killed(project, two):
    process = project.start(*BOTH, "--in-flight=2", "-n", "2")
    wait_for(lambda: begun(project, "slow", "slower"))
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not processes(project))
    result = project.run("--resume=out", "-n", "2")
    assert result.status == 0, result.output
    for name in ("slow", "slower"):
        assert summary(project.path / "out" / name)["tasks"]["toy.say"]["missing"] == 0


def test_a_run_that_is_killed_does_not_disturb_the_others(project, two):
    process = project.start(*BOTH, "--in-flight=1")
    wait_for(lambda: begun(project, "slow", "slower"))
    os.kill(json.loads((project.path / "out" / "slower" / "lock").read_text())["pid"], signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL, output
    assert "slower: exit status 137, see out/logs/slower.log" in output
    assert summary(project.path / "out" / "slow")["tasks"]["toy.say"]["missing"] == 0
    result = project.run("--resume=out")
    assert result.status == 0 and "1 to do, 1 finished" in result.output
    assert summary(project.path / "out" / "slower")["tasks"]["toy.say"]["missing"] == 0


def test_finished_runs_are_kept_and_runs_that_never_began_begin(project, two):
    assert project.run(*BOTH, "--limit=3").status == 0
    kept = (project.path / "out" / "slow" / "run.json").stat().st_mtime_ns
    for path in sorted((project.path / "out" / "slower").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    result = project.run("--resume=out")
    assert result.status == 0, result.output
    assert "1 to do, 1 finished" in result.output
    assert (project.path / "out" / "slow" / "run.json").stat().st_mtime_ns == kept
    assert summary(project.path / "out" / "slower")["tasks"]["toy.say"]["planned"] == 3


def test_a_run_whose_own_test_fails_is_not_finished(project):
    (project.path / "test_own.py").write_text("def test_own():\n    assert False\n")
    words = ("--model=oracle", "--model=baseline", "--run-dir=out", "--limit=1")
    assert project.run(*words).status == 1
    again = project.run("--resume=out")
    assert again.status == 1 and "2 to do;" in again.output, again.output
    (project.path / "test_own.py").write_text("def test_own():\n    pass\n")
    assert project.run("--resume=out").status == 0
    assert "0 to do, 2 finished" in project.run("--resume=out").output


def test_programs_of_a_run_do_not_see_the_runs_beside_it(project):
    (project.path / "test_own.py").write_text(
        "import os\nfrom pathlib import Path\n\n"
        "def test_own():\n    assert str(Path('out').resolve()) in os.environ['AGENTGAUGE_HIDDEN'].split(os.pathsep)\n"
    )
    result = project.run("--model=oracle", "--model=baseline", "--run-dir=out", "--limit=1")
    assert result.status == 0, (project.path / "out" / "logs" / "oracle.log").read_text()


# -- shared tool servers


def toolbox(project: Project, server: str) -> None:
    (project.path / "conftest.py").write_text(CONFTEST)
    (project.path / "server.py").write_text(server)
    (project.path / "test_toy.py").write_text(CASES.partition("def test_of_the_project")[0])


def test_runs_share_the_server_of_each_command(project):
    toolbox(project, SERVER_TOOL_SERVERS)
    models = ("--model=baseline", "--model=oracle")
    result = project.run(*models, "--limit=2", "--run-dir=out", "-n", "2")
    assert result.status == 0, result.output
    found = [json.loads((project.path / "out" / name / "services.json").read_text()) for name in ("baseline", "oracle")]
    tools = [{name: url for name, url in one.items() if name.startswith("tools")} for one in found]
    assert tools[0] == tools[1] and len(set(tools[0].values())) == 2
    for name in ("baseline", "oracle"):
        run = project.path / "out" / name
        assert {(one["task"], one["transcript"]["output"]["answer"]) for one in records(run)} == {
            ("toy.one", "good"),
            ("bad.two", "bad"),
            ("toy.three", "good"),
        }
    wait_for(lambda: not processes(project))


def test_runs_with_real_tools_equal_runs_with_servers_of_their_own(tmp_path):
    words = ("-m", "gta_atomic_e2e", "-k", "10 or 33")  # whose tools load nothing heavy
    run_gta(*words, "--model=oracle", "--model=baseline", "--run-dir=out", cwd=tmp_path)
    assert (tmp_path / "out" / "logs" / "tools.log").exists()
    for name in ("oracle", "baseline"):
        run_gta(*words, f"--model={name}", f"--run-dir=alone/{name}", cwd=tmp_path)
        one, other = tmp_path / "out" / name, tmp_path / "alone" / name
        assert without_times(summary(one)) == without_times(summary(other))
        assert run_json(one)["settings"] == run_json(other)["settings"]


def test_a_server_that_does_not_start_ends_all_runs(project):
    toolbox(project, "raise SystemExit('no room')")
    result = project.run("--model=baseline", "--model=oracle", "--limit=2", "--run-dir=out")
    assert result.status == 4, result.output
    assert "the tool server did not start (status 1): no room" in result.output


def test_a_temperature_is_the_models_and_stays_with_the_run(project):
    with FaultServer(choose=slow(0.0)) as endpoint:
        tables(project, m=endpoint.url)
        assert project.run("--model=m", "--temperature=0.25", "--run-dir=run", "--limit=2").status == 0
        assert [one.body["temperature"] for one in endpoint.requests] == [0.25, 0.25]
        warm = run_json(project.path / "run")["settings"]["model"]
        assert project.run("--resume=run").status == 0
        refused = project.run("--resume=run", "--temperature=0.5")
        assert project.run("--model=m", "--run-dir=plain", "--limit=2").status == 0
    assert refused.status == 4 and "that run has model settings" in refused.output
    assert warm["temperature"] == 0.25
    assert run_json(project.path / "plain")["settings"]["model"]["fingerprint"] != warm["fingerprint"]
