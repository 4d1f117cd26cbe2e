"""Looks at one delivered file, inside the sandbox (GTA-Workflow spec 3.2). Started by ``confined.run_child`` only.

Standard input: ``{"do": one of WORK, "source": path, "folder": where results go, ...}``. Standard output: the fields of
``parts.Shown``, its files as base names below ``folder``. What libraries print goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping

from agentgauge.core.errors import ToolError
from agentgauge.core.types import Json
from bench_gta.workflow.rendering import show_archives, show_media, show_office, show_pages

WORK: Mapping[str, Callable[[Mapping[str, Json]], Json]] = {
    "pdf": show_pages.pdf,
    "page": show_pages.page,
    "markdown": show_pages.marked,
    "plain": show_pages.plain,
    "before office": show_office.before_office,
    "after office": show_office.after_office,
    "office text": show_office.office_text,
    "picture": show_media.picture,
    "video": show_media.video,
    "upstream video": show_media.upstream_video,
    "audio": show_media.audio,
    "archive": show_archives.archive,
}


def main() -> None:
    answer = os.dup(1)
    os.dup2(2, 1)
    order = json.load(sys.stdin)
    try:
        result = WORK[order["do"]](order)
    except ToolError as error:
        result = {"why": str(error)}
    with os.fdopen(answer, "w", encoding="utf-8") as file:
        json.dump(result, file)


if __name__ == "__main__":
    main()
