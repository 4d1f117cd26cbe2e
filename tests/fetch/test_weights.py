"""Weights of tools: what the manifest says, and whole fetches from servers that answer as the hub and GitHub do."""

from __future__ import annotations

import hashlib
import re
import tomllib
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from agentgauge.data.fetch.dataset import read_note
from agentgauge.data.fetch.sources import Hub, Release
from agentgauge.data.weights import Weights
from bench_gta.similarity import _MPNET
from tests.fetch.conftest import Place, one_sentence
from tests.fetch.site import Site, always, status
from tool_impls import published_weights
from tool_impls.audio import speech
from tool_impls.availability import fingerprints
from tool_impls.creativity.generate import ImageStylization, TextToImage
from tool_impls.perception import vision
from tool_impls.perception.detection import finder
from tool_impls.published_weights import WEIGHTS, known
from tool_impls.registry import BACKENDS, TOOLS, load
from tool_impls.settings import ToolSettings

ROOT = Path(__file__).resolve().parents[2]
NAMES = [one.name for one in WEIGHTS]

# -- the manifest


@pytest.mark.parametrize("one", WEIGHTS, ids=NAMES)
def test_every_set_is_complete_and_pinned(one: Weights) -> None:
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", one.name)
    assert one.size > 1e6 and one.licence and one.used_by and one.needed
    assert all(re.fullmatch("[0-9a-f]{64}", sha256) for sha256 in one.checksums.values())
    if isinstance(one.source, Hub):
        offered = one.source.patterns
        assert (one.source.repo, one.source.kind) == (one.published, "model")
        assert re.fullmatch("[0-9a-f]{40}", one.source.revision or "")
    else:
        assert isinstance(one.source, Release)
        offered = one.source.usual
    for name in (*one.checksums, *(name for name in one.needed if "*" not in name)):
        assert any(fnmatchcase(name, pattern) for pattern in offered), name


@pytest.mark.parametrize("one", WEIGHTS, ids=NAMES)
def test_every_set_says_which_setting_uses_it(one: Weights) -> None:
    if one.name == "all-mpnet-base-v2":
        assert one.setting == "AGENTGAUGE_MPNET=all-mpnet-base-v2"
        return
    table, _, values = one.setting.partition(" ")
    given = tomllib.loads(f"{table}\n" + values.replace(", ", "\n"))["tools"]
    ((name, options),) = given.items()
    assert one.name in options.values()
    assert options.keys() <= {option.name for option in BACKENDS[name]}
    assert all(name in TOOLS[tool].tables for tool in one.used_by)


@pytest.mark.parametrize(
    "name",
    [
        *(name for name, _ in speech.SUGGESTED.values()),
        vision.DEFAULT,
        *(name for name, _ in finder.SUGGESTED.values()),
        TextToImage.model,
        ImageStylization.model,
        "stabilityai/sdxl-turbo",
        _MPNET,
    ],
)
def test_what_the_tools_suggest_is_among_them(name: str) -> None:
    assert known(name)


def test_what_the_pages_name_is_among_them() -> None:
    text = (ROOT / "docs/tools.md").read_text("utf-8")
    listed = set(
        re.findall(r"^\| `([^`]+)` \| `[^`]+`", text.partition("### Weights")[2].partition("\n### ")[0], re.MULTILINE)
    )
    assert listed == set(NAMES)
    used = set(re.findall(r'^(?:edit_)?weights = "([^"]+)"', text, re.MULTILINE))
    assert used and all(map(known, used))


# -- a set for the tests: small, from both kinds of origin

FILES = {"config.json": b'{"model_type": "whisper"}', "model.safetensors": bytes(range(256)) * 1000}
COMMIT = "c" * 40
SHA256 = hashlib.sha256(FILES["model.safetensors"]).hexdigest()
SMALL = Weights(
    name="small-whisper",
    published="someone/small-whisper",
    size=len(FILES["model.safetensors"]),
    licence="MIT",
    used_by=("SpeechToText",),
    setting='[tools.speech] weights = "small-whisper"',
    source=Hub("someone/small-whisper", ("*.json", "model.safetensors"), COMMIT, "model"),
    needed=("config.json", "*.safetensors"),
    checksums={"model.safetensors": SHA256},
)
CHECKPOINT = replace(
    SMALL,
    name="small-yolo",
    published="small.pt",
    source=Release("someone/assets", "v1", r"small\.pt", ("small.pt",)),
    needed=("small.pt",),
    checksums={"small.pt": SHA256},
    file="small.pt",
)


@pytest.fixture
def offered(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(published_weights, "WEIGHTS", (SMALL, CHECKPOINT))
    site.hub("someone/small-whisper", {**FILES, "README.md": b"not wanted"}, commit=COMMIT, kind="models")
    site.release("someone/assets", "v1", {"small.pt": FILES["model.safetensors"]}, digests=False)
    return site


def test_the_list_fetches_nothing(site: Site, place: Place) -> None:
    outcome, out, err = place.run("fetch", "tools", "--mirror", site.url)
    assert (outcome, err) == (0, "")
    for one in WEIGHTS:
        for text in (one.name, one.published, one.licence, one.setting, *one.checksums.values()):
            assert text in out
        assert f"get it with: agentgauge fetch {one.name}" in out
    assert not place.base.exists()
    assert site.asked == []


@pytest.mark.parametrize("words", [("small-whisper",), ("tools", "--only", "small-whisper")])
def test_a_set_of_the_hub_comes_checked_and_only_what_is_wanted(
    offered: Site, place: Place, words: tuple[str, ...]
) -> None:
    outcome, out, err = place.run("fetch", *words, "--mirror", offered.url)
    assert (outcome, err) == (0, "")
    root = place.base / "weights/small-whisper"
    assert {path.name for path in root.iterdir()} == {*FILES, "agentgauge-source.json"}
    assert f'ready: {root}, for SpeechToText: [tools.speech] weights = "small-whisper"' in out
    assert "checksums: 2 as published" in out
    note = read_note(root)
    assert note and (note.revision, note.files["model.safetensors"].sha256) == (COMMIT, SHA256)
    told = place.run("data")[1]
    assert f"small-whisper  {root}, 2 files, 256.0 kB, version {COMMIT[:12]}, checksums published, verified 20" in told
    assert "small-yolo     not here (256.0 kB); get it with: agentgauge fetch small-yolo" in told


def test_a_checkpoint_without_a_published_checksum_is_held_against_the_known_one(offered: Site, place: Place) -> None:
    offered.fault("/releases/tags/v1", always(status(403)))
    assert place.run("fetch", "small-yolo", "--mirror", offered.url)[0] == 0
    assert (place.base / "weights/small-yolo/small.pt").read_bytes() == FILES["model.safetensors"]
    offered.release("someone/assets", "v1", {"small.pt": b"other"}, digests=False)
    other = replace(place, base=place.base.with_name("other"))
    outcome, _, err = other.run("fetch", "small-yolo", "--mirror", offered.url)
    assert outcome == 4
    assert f"is not the published file: SHA-256 {hashlib.sha256(b'other').hexdigest()} instead of" in one_sentence(err)
    assert not (other.base / "weights").exists()


def test_an_origin_that_publishes_another_checksum_is_refused_before_the_download(offered: Site, place: Place) -> None:
    offered.hub("someone/small-whisper", {**FILES, "model.safetensors": bytes(200_000)}, commit=COMMIT, kind="models")
    outcome, _, err = place.run("fetch", "small-whisper", "--mirror", offered.url)
    assert outcome == 4
    assert f"instead of {SHA256}; nothing was downloaded" in one_sentence(err)
    assert not offered.served
    copy = ("--from", f"hub:someone/small-whisper@{COMMIT}")
    assert place.run("fetch", "small-whisper", "--mirror", offered.url, *copy)[0] == 0, "the user named it"


def test_a_repository_that_lacks_a_needed_file_is_refused_before_the_download(offered: Site, place: Place) -> None:
    offered.hub("someone/small-whisper", {"config.json": b"{}"}, commit=COMMIT, kind="models")
    outcome, _, err = place.run("fetch", "small-whisper", "--mirror", offered.url)
    assert outcome == 4
    assert f"at {COMMIT} has no *.safetensors, which someone/small-whisper needs" in one_sentence(err)
    assert not offered.served


@pytest.mark.parametrize("end", [f"/api/models/someone/small-whisper/revision/{COMMIT}", "/config.json"])
def test_a_gated_repository_says_what_to_do(offered: Site, place: Place, end: str) -> None:
    offered.fault(end, always(status(403, X_Error_Code="GatedRepo")))
    outcome, _, err = place.run("fetch", "small-whisper", "--mirror", offered.url)
    assert outcome == 4
    assert "is refused (HTTP 403)" in one_sentence(err)
    assert "HF_TOKEN for the hub, of a user who has accepted the terms on the repository's page" in err


# -- what is here


def test_a_file_that_changed_later_is_found(offered: Site, place: Place) -> None:
    assert place.run("fetch", "small-whisper", "--mirror", offered.url)[0] == 0
    asked = len(offered.asked)
    file = place.base / "weights/small-whisper/model.safetensors"
    file.write_bytes(bytes(file.stat().st_size))
    assert "damaged" not in place.run("data")[1], "only a fetch reads the contents"
    outcome, out, _ = place.run("fetch", "small-whisper")
    assert outcome == 1
    assert f"problem: model.safetensors has SHA-256 {hashlib.sha256(file.read_bytes()).hexdigest()} instead of" in out
    assert "damaged: model.safetensors has SHA-256" in place.run("data")[1]
    file.write_bytes(b"short")
    assert "damaged: model.safetensors has 5 bytes instead of 256000; remove" in place.run("data")[1]
    file.unlink()
    assert "damaged: model.safetensors is missing; remove" in place.run("data")[1]
    assert len(offered.asked) == asked


def test_another_verification_makes_no_other_weights(offered: Site, place: Place) -> None:
    """The note of a fetch has its time; runs with the same weights must stay comparable."""
    assert place.run("fetch", "small-whisper", "--mirror", offered.url)[0] == 0
    root = place.base / "weights/small-whisper"
    settings = ToolSettings(tables={"speech": {"weights": str(root)}})
    before = fingerprints(settings, ["SpeechToText"])["SpeechToText"]["weights"]
    (root / "agentgauge-source.json").write_text("later")
    assert fingerprints(settings, ["SpeechToText"])["SpeechToText"]["weights"] == before
    (root / "config.json").write_text("{}")
    assert fingerprints(settings, ["SpeechToText"])["SpeechToText"]["weights"] != before


def test_a_copy_of_the_users_own_is_left_as_it_is(offered: Site, place: Place) -> None:
    root = place.base / "weights/small-whisper"
    root.mkdir(parents=True)
    (root / "config.json").write_bytes(b"{}")
    outcome, _, err = place.run("fetch", "small-whisper", "--mirror", offered.url)
    assert outcome == 4
    assert "is not a valid someone/small-whisper (it has no *.safetensors)" in one_sentence(err)
    (root / "model.safetensors").write_bytes(b"mine")
    outcome, out, err = place.run("fetch", "small-whisper", "--mirror", offered.url)
    assert (outcome, err) == (0, "")
    assert "it is left as it is" in out
    assert f"{root}, your own copy" in place.run("data")[1]
    assert offered.asked == []


def test_data_names_the_weights_of_the_settings(
    offered: Site, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "agentgauge.toml").write_text(
        '[tools.vision]\nweights = "mine"\n[tools.speech]\nweights = "small-whisper"\n'
        '[tools.detection]\nweights = "shapes"\n[tools.image]\nedit_weights = "models/none"\n'
    )
    told = place.run("data")[1]
    for line in (
        f'agentgauge.toml: [tools.vision] weights = "{tmp_path}/mine": there',
        'agentgauge.toml: [tools.speech] weights = "small-whisper": not here; get it with: agentgauge fetch small-whis',
        'agentgauge.toml: [tools.detection] weights = "shapes": bundled',
        'agentgauge.toml: [tools.image] edit_weights = "models/none": nothing is there',
    ):
        assert line in told
    (tmp_path / "agentgauge.toml").write_text("[tools.vision]\nwheights = 1\n")
    assert "agentgauge.toml: [tools.vision] in the settings does not know wheights" in place.run("data")[1]


@pytest.mark.parametrize(
    ("given", "file"),
    [("small-whisper", ""), ("someone/small-whisper", ""), ("small-yolo", "small.pt"), ("small.pt", "small.pt")],
)
def test_settings_may_name_what_was_fetched(
    offered: Site, place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, file: str
) -> None:
    settings = tmp_path / "agentgauge.toml"
    settings.write_text(f'[tools.speech]\nweights = "{given}"\n')
    monkeypatch.setenv("AGENTGAUGE_DATA", str(place.base))
    assert load(settings).tables["speech"]["weights"] == given
    one = known(given)
    assert one and place.run("fetch", one.name, "--mirror", offered.url)[0] == 0
    there = place.base / "weights" / one.name / file
    assert load(settings).tables["speech"]["weights"] == str(there)
    monkeypatch.delenv("AGENTGAUGE_DATA")
    assert load(settings).tables["speech"]["weights"] == given
    place.base.rename(tmp_path / "agentgauge-data")
    beside = tmp_path / "agentgauge-data/weights" / one.name / file
    assert load(settings).tables["speech"]["weights"] == str(beside), "beside the settings"
    assert read_note(tmp_path / "agentgauge-data/weights" / one.name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    settings.rename(tmp_path / "other/agentgauge.toml")
    assert load(tmp_path / "other/agentgauge.toml").tables["speech"]["weights"] == str(beside), "where the command is"
