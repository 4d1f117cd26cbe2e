"""The parser of the commands of ``agentgauge``."""

from __future__ import annotations

import argparse
import re
from typing import Any

from agentgauge.core.errors import did_you_mean

_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


class CommandParser(argparse.ArgumentParser):
    """A parser that suggests an option in place of a mistyped one."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but unknown arguments are an error: of the parser of the subcommand, where there is one."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and not unknown[0].startswith("-"):
            self.error(f"unexpected argument {unknown[0]!r}; --help shows what is accepted")
        if unknown:
            option = unknown[0].partition("=")[0]
            known = dict.fromkeys(_OPTION.findall(self.format_help()))
            self.error(f"there is no option {option}{did_you_mean(option, known)}; --help lists the options")
        return found, unknown
