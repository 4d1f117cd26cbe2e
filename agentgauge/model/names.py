"""Whether the name that an endpoint reports for its model denies the name that it was asked for.

A name denies another only if both name a model of their own, and the families (Qwen, Gemma), the versions (2.5, 3),
the sizes (8B, 0.6B) or the editions (mini, flash, opus) that they name exclude each other. What one of them leaves out
is no contradiction, and neither are dates, owners, folders, formats, quantisation, adapters and aliases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

CONSTANT = "gpt-3.5-turbo"
"""The name that llama.cpp and other servers report for any model. Of a model of OpenAI it is a name like others."""

_PLAIN = (
    *("claude", "gemini", "gemma", "grok", "qwen", "qwq", "qvq", "deepseek", "phi", "yi", "internlm", "hunyuan"),
    *("ernie", "granite", "falcon", "olmo", "smollm", "nemotron", "jamba", "hermes", "baichuan", "exaone"),
    *("starcoder", "xlam", "functionary", "vicuna", "zephyr", "tinyllama", "stablelm", "lfm", "toolace", "sonar"),
)
_FAMILIES = {
    "openai-o": r"o(?=[1345](?![\d.]))",
    "gpt-oss": r"gpt-?oss",
    "gpt": r"(?:chat)?gpt(?!-?oss)",
    "kimi": "kimi|moonshot",
    "glm": "(?:chat)?glm",
    "mistral": "open-mi[sx]tral|mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral",
    "command": r"c4ai-command|command(?=-?[ar]\b)",
    "nova": "nova(?=-(?:micro|lite|pro|premier|[12]))",
    "minimax": "minimax|abab",
    "doubao": "doubao|seed-oss",
    "llama": "(?:code)?llama",
    **{name: name for name in _PLAIN},
}
"""Family → the words that name it, as a pattern."""
_FAMILY = re.compile("|".join(f"(?<![a-z])(?P<f{n}>{words})(?![a-z])" for n, words in enumerate(_FAMILIES.values())))
_EXACT = frozenset({"gpt", "openai-o", "gemini", "grok", "nova"})
"""Families whose models are named in full: without a word for a small one, the large one is meant."""
_SMALL = frozenset({"mini", "nano", "micro", "lite"})
_EDITIONS = _SMALL | {
    *("flash", "pro", "ultra", "opus", "sonnet", "haiku", "small", "medium", "large", "max", "plus", "scout"),
    *("maverick", "coder", "vl", "codestral", "devstral", "magistral", "ministral", "pixtral", "mixtral", "voxtral"),
}
_DATE = re.compile(
    r"(?<![\d.])(?:20\d\d-[01]\d-[0-3]\d|20[2-9]\d[01]\d[0-3]\d|2[3-9][01]\d[0-3]\d"
    r"|[01]\d-20\d\d|[01]\d[0-3]\d|2[3-9][01]\d"
    r"|(?<=preview-)[01]\d-[0-3]\d|(?<=exp-)[01]\d-[0-3]\d|00\d)(?![\d.])"
)
_CONTEXT = re.compile(r"(?<![\d.])\d+[ke](?![a-z\d])|(?<![\d.])[1-9]m(?![a-z\d])")
"""Lengths of contexts (32k, 1m) and numbers of experts (16e)."""
_SIZE = re.compile(r"(?<![\d.])(?:(\d+)-?x-?|(?<=[ae])|(?<![a-z\d.]))(?:(\d+)-)?(\d+(?:\.\d+)?)-?([bm])(?![a-z\d])")
_VERSION = r"-?(?:v-?)?((?:[krm]-?)?\d{1,2})(?:([.-])(\d{1,2})(?![\d.]))?(o)?(?![\d.])(-#)?"
_CLAUDE = r"(?:-(?:opus|sonnet|haiku|instant))*" + _VERSION


@dataclass(frozen=True, slots=True)
class _Parts:
    families: frozenset[str]
    versions: tuple[tuple[str, frozenset[str]], ...]  # by family; several where a name can be read in several ways
    sizes: frozenset[str]
    editions: frozenset[str]


@lru_cache(maxsize=1024)
def denies(reported: str, asked: str) -> bool:
    """Whether a reported name shows that another model has answered than the one that was asked for."""
    theirs, ours = _parts(reported), _parts(asked)
    if _plain(reported) == CONSTANT and not ours.families & {"gpt", "openai-o"}:
        return False
    if theirs.families and ours.families and not theirs.families & ours.families:
        return True
    if theirs.sizes and ours.sizes and not theirs.sizes & ours.sizes:
        return True
    if not (theirs.families and ours.families):
        return False
    if theirs.editions and ours.editions and not theirs.editions & ours.editions:
        return True
    if theirs.families & ours.families & _EXACT and (theirs.editions ^ ours.editions) & _SMALL:
        return True
    known = dict(ours.versions)
    return any(found.isdisjoint(known[family]) for family, found in theirs.versions if family in known)


def _parts(name: str) -> _Parts:
    whole = _plain(name)
    last = whole.rstrip("/").rpartition("/")[2]
    text = last if _FAMILY.search(last) else whole
    text = _CONTEXT.sub("", _DATE.sub("", text))
    sizes = frozenset(size for match in _SIZE.finditer(text) for size in _sizes(match))
    text = _SIZE.sub(lambda match: f"{match[2]}-#" if match[2] else "#", text)
    families = frozenset(
        list(_FAMILIES)[int(match.lastgroup[1:])] for match in _FAMILY.finditer(text) if match.lastgroup
    )
    versions = tuple((family, found) for family in sorted(families) if (found := _versions(family, text)))
    words = frozenset(re.findall(r"[a-z]+", text))
    return _Parts(families, versions, sizes, words & _EDITIONS)


def _plain(name: str) -> str:
    text = re.sub(r"[\s_:@]+", "-", name.strip().lower())
    text = re.sub(r"\.(?:gguf|bin|safetensors|pt|pth|onnx)$", "", text)
    return re.sub(r"(?<=\d)p(?=\d)", ".", text)


def _sizes(match: re.Match[str]) -> list[str]:
    """In billions. ``1-5b`` may be 5 behind another number, or 1.5."""
    experts, before, number, unit = match.groups()
    if experts:
        return [f"{experts}x{number}"]
    numbers = [float(number), *([float(f"{before}.{number}")] if before and "." not in number else [])]
    return [f"{value / (1000 if unit == 'm' else 1):g}" for value in numbers]


def _versions(family: str, text: str) -> frozenset[str]:
    pattern = _CLAUDE if family == "claude" else _VERSION
    found = re.search(rf"(?<![a-z])(?:{_FAMILIES[family]})(?![a-z]){pattern}", text)
    if found is None:
        return frozenset()
    major, dot, minor, letter, before_size = found.groups()[-5:]
    major = major.replace("-", "")
    if family == "gpt" and major == "35":
        major, minor = "3", "5"
    letter = letter or ""
    if not minor or minor == "0":
        return frozenset({major + letter})
    return frozenset({f"{major}.{minor}{letter}", *([major] if dot == "-" and before_size else [])})
