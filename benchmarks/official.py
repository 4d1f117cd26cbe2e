"""Data sets in the official layout at full size: ``python -m benchmarks.official DIR [--scale 1.0] [--only
wild,mmau]``.

The samples are the bundled ones over and over, varied by a fixed seed, under the folder names of the original archives
and with the published numbers of samples, files, leaves and tests (GTA spec 1.6, GTA-Workflow spec 1.1, wild spec 1,
MMAU spec 1.2 and 2.1). Their gold stays reachable, so that ``pytest --data DIR --model=oracle`` passes everything. What
is not imitated is the attachments' size: GTA-Workflow's archive has 6 GB, ours the bundled files once a task.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SEED = 20240712

QUERIES, PICTURES, DRAWN = 229, 252, 57
TOOLS_A_QUERY = {1: 17, 2: 147, 3: 50, 4: 15}
TASKS, LEAVES, MOST_LEAVES = 132, 1156, 19
SESSIONS = 256
DATE = "20240712"

SUBTYPES = {
    "english_": ("Coreferential Reference", "Partial Information", "Long-Range Dependency"),
    "": ("指代理解", "省略成分", "长期记忆"),
}

Record = dict[str, Any]


def scaled(count: float, scale: float) -> int:
    return max(1, round(count * scale))


def write_all(folder: Path, scale: float = 1.0, only: Sequence[str] = ()) -> dict[str, Path]:
    """Write the data sets, or some of them, below ``folder``. Returns their folders by name."""
    made = {"gta_atomic": gta_atomic, "gta_workflow": gta_workflow, "wild": wild, "mmau": mmau}
    return {name: write(folder, scale) for name, write in made.items() if not only or name in only}


# -- GTA-Atomic


def gta_atomic(folder: Path, scale: float) -> Path:
    """Queries in the published mix of tools; each has pictures of its own while the number of pictures lasts."""
    root, mini = folder / "gta_dataset", ROOT / "bench_gta" / "atomic" / "mini"
    (root / "image").mkdir(parents=True)
    shutil.copy(mini / "toolmeta.json", root)
    shutil.copytree(mini / "search", root / "search")
    samples = list(json.loads((mini / "dataset.json").read_text(encoding="utf-8")).values())
    # pictures that only calls name, such as those that a tool drew, keep their names
    named = {used["path"] for sample in samples for used in sample["files"]}
    drawn = [path for path in sorted(mini.glob("image/*")) if f"image/{path.name}" not in named]
    for path in drawn:
        shutil.copy(path, root / "image")
    copies: dict[str, str] = {}
    written, most = len(drawn), max(scaled(PICTURES, scale), len(drawn) + len(named))
    result: Record = {}
    for number, sample in enumerate(_in_mix(samples, scale)):
        text = json.dumps(sample, ensure_ascii=False)
        for used in sample["files"]:
            path = used["path"]
            if path not in copies or written < most - len(named - copies.keys()):
                written += 1
                copies[path] = f"image/image_{written}{Path(path).suffix}"
                shutil.copy(mini / path, root / copies[path])
            text = text.replace(json.dumps(path), json.dumps(copies[path]))
        result[str(number)] = json.loads(text)
    (root / "dataset.json").write_text(json.dumps(result, ensure_ascii=False, indent=2), encoding="utf-8")
    return root


def _in_mix(samples: Sequence[Record], scale: float) -> list[Record]:
    """By number of tools as published, and of these as many that are answered by a picture as there are."""
    groups = {tools: [sample for sample in samples if len(sample["tools"]) == tools] for tools in TOOLS_A_QUERY}
    pictures = {tools: [sample for sample in group if not sample["gt_answer"]] for tools, group in groups.items()}
    able = sum(TOOLS_A_QUERY[tools] for tools, group in pictures.items() if group)
    chosen: list[Record] = []
    for tools, count in TOOLS_A_QUERY.items():
        share = scaled(count * DRAWN / able, scale) if pictures[tools] else 0
        chosen += islice(cycle(pictures[tools]), share)
        chosen += islice(
            cycle([sample for sample in groups[tools] if sample["gt_answer"]]), scaled(count, scale) - share
        )
    random.Random(SEED).shuffle(chosen)
    return chosen


# -- GTA-Workflow


def gta_workflow(folder: Path, scale: float) -> Path:
    """Every task has its attached files in a folder of its own, and leaves are repeated until there are as many as
    published."""
    root, mini = folder / "gta_dataset_v2", ROOT / "bench_gta" / "workflow" / "mini"
    root.mkdir(parents=True)
    shutil.copy(mini / "toolmeta.json", root)
    samples = list(json.loads((mini / "end.json").read_text(encoding="utf-8")).values())
    tasks = [json.loads(json.dumps(task)) for task in islice(cycle(samples), scaled(TASKS, scale))]
    missing = scaled(LEAVES, scale) - sum(len(_leaves(task["sub_tasks"])) for task in tasks)
    for task in cycle(tasks) if missing > 0 else ():
        if len(_leaves(task["sub_tasks"])) < MOST_LEAVES:
            leaf = _leaves(task["sub_tasks"])[0]
            task["sub_tasks"].append({**leaf, "id": str(len(task["sub_tasks"]) + 1)})
            missing -= 1
        if missing == 0:
            break
    result = {}
    for number, task in enumerate(tasks):
        text = json.dumps(task, ensure_ascii=False)
        for used in task["files"]:
            path = Path(used["path"])
            own = f"files/{number}/{path.name}"
            (root / own).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(mini / path, root / own)
            text = text.replace(used["path"], own)
        result[str(number)] = json.loads(text)
    (root / "end.json").write_text(json.dumps(result, ensure_ascii=False, indent=2), encoding="utf-8")
    return root


def _leaves(nodes: Iterable[Record]) -> list[Record]:
    found: list[Record] = []
    for node in nodes:
        found += _leaves(node["sub_tasks"]) if node.get("sub_tasks") else [node]
    return found


# -- WildToolBench


def wild(folder: Path, scale: float) -> Path:
    """Every sequence of four types of tasks, in order, each task with the tools of the sessions that its tasks come
    from."""
    root = folder / "WildToolBench" / "data"
    root.mkdir(parents=True)
    bundled = [json.loads(line) for line in _lines(ROOT / "bench_wild" / "mini" / "Wild-Tool-Bench.jsonl")]
    pools: dict[str, list[tuple[Record, int]]] = {}
    for session in bundled:
        for place, kind in enumerate(session["english_task_types"]):
            pools.setdefault("Multi" if kind.endswith("Multi-Tool") else kind, []).append((session, place))
    chance = random.Random(SEED)
    sequences = list(product(pools, repeat=4))[: scaled(SESSIONS, scale)]
    lines = (
        json.dumps(_session(number, [chance.choice(pools[kind]) for kind in kinds], chance))
        for number, kinds in enumerate(sequences)
    )
    (root / "Wild-Tool-Bench.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return root


def _session(number: int, tasks: Sequence[tuple[Record, int]], chance: random.Random) -> Record:
    made: Record = {"id": f"wild_tool_bench_{number}"}
    sources = list({session["id"]: session for session, _ in tasks}.values())
    order = chance.sample(range(len(sources)), len(sources))
    subtypes = chance.choices(range(3), k=3)
    for twin in ("english_", ""):
        made[f"{twin}env_info"] = tasks[0][0][f"{twin}env_info"]
        made[f"{twin}tools"] = [tool for place in order for tool in sources[place][f"{twin}tools"]]
        for field in ("tasks", "answer_list", "task_types"):
            made[f"{twin}{field}"] = [session[f"{twin}{field}"][place] for session, place in tasks]
        made[f"{twin}turn_subtypes"] = [SUBTYPES[twin][subtype] for subtype in subtypes]
    return made


# -- Apple MMAU

MMAU: Mapping[str, tuple[int, int]] = {
    "tool_use_execution_single_step": (184, 0),
    "tool_use_execution_parallel": (225, 0),
    "tool_use_execution_multi_step_double": (298, 0),
    "tool_use_execution_multi_step_triple": (258, 1_480_000),
    "tool_use_self_correct": (282, 0),
    "tool_use_plan_with_reasoning_all": (451, 0),
    "tool_use_plan_no_reasoning_all": (451, 407_000),
    "code_contests_regular": (261, 29_000_000),
    "code_contests_plan": (261, 29_500_000),
    "code_contests_solve": (261, 30_400_000),
    "code_contests_understand": (261, 848_000),
    "code_kaggle": (123, 5_410_000),
    "math_standard": (1000, 1_290_000),
    "math_understand": (672, 1_270_000),
}
"""Records, and bytes where they are known."""

TESTS = 100
"""Generated tests of a contest problem."""


def mmau(folder: Path, scale: float) -> Path:
    """The records of every file; those whose size is known are brought to it, contests by long inputs that nobody
    reads."""
    root, mini = folder / "mmau", ROOT / "bench_mmau" / "mini"
    root.mkdir(parents=True)
    shutil.copytree(mini / "code_kaggle_source", root / "code_kaggle_source")
    for name, (count, size) in MMAU.items():
        grow = _with_tests if size > 10_000_000 else _with_remark
        records = _grown(mini / f"{name}_{DATE}.jsonl", scaled(count, scale), size // count, grow)
        (root / f"{name}_{DATE}.jsonl").write_text(
            "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records), encoding="utf-8"
        )
    return root


def _grown(file: Path, count: int, size: int, grow: Callable[[Record, int], Record]) -> Iterator[Record]:
    templates = [json.loads(line) for line in _lines(file)]
    for number, template in enumerate(islice(cycle(templates), count)):
        record = {**template, "id": f"{template['id']}-{number}"}
        missing = size - len(json.dumps(record, ensure_ascii=False).encode())
        yield grow(record, missing) if missing > 20 else record


def _with_tests(record: Record, missing: int) -> Record:
    groups = (record["public_tests"], record["private_tests"])
    tests = [pair for group in groups for pair in zip(group["input"], group["output"], strict=True)]
    pairs = list(islice(cycle(tests), TESTS))
    blank = "\n" * max(0, (missing - sum(len(json.dumps(pair)) for pair in pairs)) // (2 * TESTS))
    return {
        **record,
        "generated_tests": {"input": [given + blank for given, _ in pairs], "output": [wanted for _, wanted in pairs]},
    }


def _with_remark(record: Record, missing: int) -> Record:
    """A field that nothing reads: the published generator copies such fields to its responses."""
    return {**record, "remark": "x" * (missing - 14)}


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.official", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not hold them yet")
    parser.add_argument(
        "--scale", type=float, default=1.0, metavar="X", help="so many times the official numbers (default: 1.0)"
    )
    parser.add_argument(
        "--only", default="", metavar="NAMES", help="gta_atomic, gta_workflow, wild, mmau; with commas (default: all)"
    )
    options = parser.parse_args()
    began = time.perf_counter()
    for name, root in write_all(
        options.folder, options.scale, [name for name in options.only.split(",") if name]
    ).items():
        size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
        print(f"{name}: {root}, {size / 1e6:.1f} MB")
    print(f"written in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
