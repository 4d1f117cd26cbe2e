"""What a task's score rests on, as one word: with it, a score is known to be of what the pack holds now."""

from __future__ import annotations

import hashlib
import json

from bench_gta.pack.file_selection import place_of, problem_of
from bench_gta.pack.format import Pack, PackTask


def digest_of(pack: Pack, task: PackTask) -> str:
    """Of the request, the answer, the tree, and the names and contents of the files. Where the files lie plays no
    part."""
    files = [[name, _content(pack, name)] for name in task.attached_files]
    shown = [task.origin_prompt, task.assistant_outputs, task.full_tree, files]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:32]


def _content(pack: Pack, name: str) -> str:
    if problem := problem_of(pack.base, name):
        return problem
    try:
        with place_of(pack.base, name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"
