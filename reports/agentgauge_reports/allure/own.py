"""What a project's own code says to Allure about benchmark cases: labels, links, title, description, parameters,
steps, attachments and what its fixtures do.

allure-pytest gathers this while pytest runs the test of a case. ``agentgauge/pytest_plugin/allure.py`` leaves it in the
run's folder, in Allure's own layout, with a case's ``allure_id`` instead of the result's id. The results of the run
take it from there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import open_plain, whole
from agentgauge.core.text import clean
from agentgauge.store import RunFolder
from agentgauge.store.jsonl import CaseId
from agentgauge_reports.allure.content import PLAIN
from agentgauge_reports.allure.identity import allure_id
from agentgauge_reports.load import plain_file

ONE_VALUE = {"epic", "feature", "story", "severity", "parentSuite", "suite", "subSuite"}
"""Labels of which the project's own replace ours."""

Json = dict[str, Any]


class OwnContent:
    """Reads what the project's code has said, and copies its attachments beside the results."""

    def __init__(self, run: Path, folder: Path, *, is_live: bool) -> None:
        """``folder``: that of the results. ``is_live``: the run's own session writes them. Otherwise the run may be a
        stranger's, and what a browser would run becomes plain text."""
        self._own = RunFolder(run).own_allure
        self._folder = folder
        self._is_live = is_live
        self.is_there = self._own.is_dir() and not self._own.is_symlink()

    def add_to(self, result: Json, case: CaseId) -> None:
        """Add to the result of the case. Raises any error where the file was changed by hand."""
        if not self.is_there or (own := self._read(f"{allure_id(case)}-result.json")) is None:
            return
        if title := own.get("name"):
            result["name"] = clean(title)
        if words := own.get("descriptionHtml") or _as_html(own.get("description")):
            result["descriptionHtml"] = clean(words) + result.get("descriptionHtml", "")
        labels = own.get("labels", [])
        replaced = ONE_VALUE & {label["name"] for label in labels}
        result["labels"] = [label for label in result["labels"] if label["name"] not in replaced]
        for key in ("labels", "links", "parameters"):
            result[key] += [one for one in own.get(key, []) if one not in result[key]]
        for key in ("steps", "attachments"):
            result[key] = [*result.get(key, ()), *self._copied(own.get(key, []))]

    def containers(self, uuids: Mapping[str, str]) -> Iterator[Json]:
        """What fixtures of the project did, for the cases that used them. ``uuids``: ``allure_id`` → id of the
        result."""
        for file in sorted(self._own.glob("*-container.json")) if self.is_there else ():
            container = self._read(file.name) or {}
            children = [uuids[child] for child in container.get("children", ()) if child in uuids]
            fixtures = {key: self._copied(container.get(key, [])) for key in ("befores", "afters")}
            if children:
                yield {**container, **fixtures, "children": children}

    def _read(self, name: str) -> Json | None:
        try:
            with open_plain(self._own / name) as stream:
                value = json.loads(whole(stream))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise UsageProblem(f"{self._own / name} is not JSON ({error}); remove it") from None
        if not isinstance(value, dict):
            raise UsageProblem(f"{self._own / name} holds no JSON object; remove it")
        return value

    def _copied(self, items: list[Json]) -> list[Json]:
        """Steps, fixtures or attachments, with the files of their attachments copied. What names no file of the
        folder is left out."""
        found = []
        for item in items:
            if "source" not in item:
                inner = {key: self._copied(item[key]) for key in ("steps", "attachments") if key in item}
                found.append(item | inner)
            elif "-attachment" in item["source"] and (file := plain_file(self._own, item["source"])):
                kind = item.get("type")
                is_plain = kind in PLAIN and not self._is_live
                name = f"{file.name}.txt" if is_plain else file.name
                shutil.copyfile(file, self._folder / name)
                found.append({**item, "source": name, "type": "text/plain" if is_plain else kind})
        return found


def _as_html(description: str | None) -> str:
    return f'<p style="white-space: pre-wrap">{escape(description)}</p>' if description else ""
