"""The texts that GTA-Atomic sends, in our own wording. The wording has no part in scoring
(docs/benchmarks/gta_atomic.md#wording).

A folder of texts can replace it, one file a text: ``call_protocol.txt`` and so on, named as the fields of Prompts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from string import Formatter

from agentgauge.agent.react import SLOTS
from agentgauge.core.errors import UsageProblem
from agentgauge.core.text import read_text

TEMPLATE_SLOTS = ("tool_description", "action_names", *SLOTS)
"""The slots that ``call_protocol`` may use; a literal brace is written twice."""


OTHERS = ("dialect_", "mmau_", "workflow_")
"""Prefixes of texts that model families and other benchmarks read from the same folder."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Every text that is sent to the model, besides the data set's own."""

    call_protocol: str = """\
You are an assistant that works with external tools. These tools are at your disposal:
{tool_description}

To use a tool, reply in exactly this form:
```
{thought}what has to be found out next, and whether a tool is needed for it
{action}the name of one tool, out of [{action_names}]
{action_input}the arguments for that tool
```
The result of the tool then comes back in this form:
```
{response}what the tool returned
```
As soon as you know the answer, or when no tool is needed, reply in exactly this form:
```
{thought}why the answer is known now
{finish}the answer to the question
```
Now begin."""
    force_stop: str = "No further tool call is possible. Give the final answer now, from what is known so far."
    files_note: str = "These files belong to the question: "
    summarise: str = (
        "Sum up the conversation so far and give the final answer to the question. Do not call any tool; reply with the"
        " final answer only."
    )
    no_action: str = (
        "Neither a tool call nor a final answer could be read from your reply. Please keep to the required form."
    )
    invalid_action: str = "There is no tool of that name here. Please choose one of the tools on offer."
    parameter_description: str = "Give the arguments as one JSON object, with the names of the parameters as its keys."

    @property
    def version(self) -> str:
        """A fingerprint: runs with different texts are not the same run."""
        content = "\0".join(f"{field.name}\0{getattr(self, field.name)}" for field in fields(self))
        return hashlib.sha256(content.encode()).hexdigest()[:12]


@lru_cache(maxsize=8)
def load_prompts(folder: Path | None) -> Prompts:
    """The built-in texts, replaced by the texts in ``folder``. One newline at a file's end is removed. Raises
    UsageProblem for a folder that does not exist, a file that is no text of ours, and an unknown slot."""
    prompts = Prompts()
    if folder is None:
        return prompts
    if not folder.is_dir():
        example = "give a folder with texts such as call_protocol.txt"
        raise UsageProblem(f"the prompts folder {folder} does not exist; {example}")
    names = [field.name for field in fields(Prompts)]
    for file in sorted(folder.iterdir()):
        if file.name.startswith(OTHERS):
            continue
        if file.stem not in names or file.suffix != ".txt":
            raise UsageProblem(
                f"{file} is not a prompt text; accepted are {', '.join(f'{name}.txt' for name in names)}"
            )
        try:
            text = read_text(file).removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageProblem(f"{file} cannot be read as UTF-8 text: {error}") from None
        prompts = replace(prompts, **{file.stem: text})
    _check_slots(prompts.call_protocol, folder)
    return prompts


def _check_slots(template: str, folder: Path) -> None:
    file, accepted = f"{folder}/call_protocol.txt", ", ".join(f"{{{slot}}}" for slot in TEMPLATE_SLOTS)
    try:
        slots = slots_of(template)
    except ValueError as error:
        raise UsageProblem(f"{file}: {error}; a literal brace is written twice, and slots are {accepted}") from None
    for name, spec, conversion in slots:
        if name not in TEMPLATE_SLOTS or spec or conversion:
            raise UsageProblem(f"{file} has the unknown slot {{{name}}}; accepted are {accepted}")


def slots_of(template: str) -> list[tuple[str, str | None, str | None]]:
    """Name, format and conversion of each slot. Raises ValueError."""
    return [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(template) if name is not None]
