"""Replaces the secrets of this process by ``[key]`` in every text that is stored, printed or received.

``register`` is called where a secret is read. From then on ``redact`` finds its value in these forms: as it is, escaped
in JSON (nested too), percent-encoded, escaped in HTML, and within base64 of any text, such as the Basic form of
``user:password``. Other encodings are not found (hexadecimal, reversed, split over two values): a malicious endpoint
could pass a key on by itself, so this module only stops keys that are repeated by accident.

Where it is applied: to each text of an endpoint's answer as it is received (``agentgauge.model.wire.clean``), so that
no judge, tool or produced file gets a key either; to what a tool server announces (``tool_impls.server.client``), to
what tools return (``agentgauge.core.case``) and to files of text that tools and agents leave; to every message of an
error (``agentgauge.core.errors``); and to JSON as it is written (``agentgauge.core.files.encoded``: records,
files of replies, run.json, summary.json). Pages, tables and Allure results are made of these. Text of libraries and
other programs is redacted on its way: messages of ``logging`` (``redact_logs``), the reports and the terminal of
pytest, standard output and error of the commands (``Printed``), and logs of services (``agentgauge.run.services``).

Values of fewer than ``SHORTEST`` characters are not registered. Such keys are placeholders that local servers accept
(``EMPTY``, ``ollama``), and replacing them would change ordinary words of a model.
"""

from __future__ import annotations

import html
import json
import logging
import os
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote, urlsplit

MARK = "[key]"
SHORTEST = 8
"""Characters of a secret that can be replaced."""

LIKELY = 16
"""Characters from which on a value that holds both letters and digits counts as random, so that no text holds it by
chance."""

_SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
_OURS = "AGENTGAUGE_"
_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@:]*:([^\s/?#]+)@", re.IGNORECASE)
_NESTED = 16
"""Backslashes before one character: JSON in JSON, four levels deep."""
_PARTS = re.compile(r"\\+|.", re.DOTALL)
_LOGIN = re.compile(r"""(:\\*/\\*/)[^\s/?#"<>\\]*@""")


@dataclass(frozen=True)
class _Secret:
    value: str

    @cached_property
    def plain(self) -> tuple[str, ...]:
        """Forms that are searched as they are."""
        return (self.value, *sorted(_base64_forms(self.value.encode()), key=len, reverse=True))

    @cached_property
    def markers(self) -> tuple[str, ...]:
        """One of these is in a text that may hold an escaped form."""
        always = ("\\u", "%")
        return (*always, "\\", "&") if any(not (sign.isalnum() or sign in "-_.~") for sign in self.value) else always

    @cached_property
    def escaped(self) -> re.Pattern[str]:
        """Matches the value with any of its characters escaped."""
        spellings = (sorted(_spellings(part), key=len, reverse=True) for part in _PARTS.findall(self.value))
        return re.compile("".join(f"(?:{'|'.join(forms)})" for forms in spellings))

    def is_in(self, text: str) -> bool:
        return any(form in text for form in self.plain) or (
            self._may_be_escaped(text) and self.escaped.search(text) is not None
        )

    def out_of(self, text: str) -> str:
        for form in self.plain:
            if form in text:
                text = text.replace(form, MARK)
        return self.escaped.sub(MARK, text) if self._may_be_escaped(text) else text

    def _may_be_escaped(self, text: str) -> bool:
        return any(marker in text for marker in self.markers)


_known: tuple[_Secret, ...] = ()  # longest first; replaced as a whole, because several threads read it


def register(*values: str | None) -> None:
    """Add secrets of this process. Empty and short ones are ignored."""
    global _known
    known = {secret.value for secret in _known}
    if new := {value for value in values if value and len(value) >= SHORTEST} - known:
        _known = tuple(sorted((*_known, *map(_Secret, new)), key=lambda secret: (-len(secret.value), secret.value)))


def register_login(address: str) -> None:
    """Add the password of an address, and its user name and password as one; the user name alone where there is no
    password."""
    try:
        login = urlsplit(address).netloc.rpartition("@")[0]
    except ValueError:  # no address, which is refused elsewhere
        return
    user, _, password = login.partition(":")
    register(*(form for text in (login, password or user) for form in (text, unquote(text))))


def register_environment(environ: Mapping[str, str] = os.environ) -> None:
    """Add the values of variables that are named like a secret (``SERPER_API_KEY``, ``HF_TOKEN``) and look random:
    tools and other programs of a run may read them. AgentGauge's own variables need not look random. Passwords in
    addresses are added if they look random, or if the address is a proxy's."""
    named = {name: value for name, value in environ.items() if is_secret_name(name)}
    register(*(value for name, value in named.items() if name.startswith(_OURS) or looks_random(value)))
    for name, value in environ.items():
        if (found := _PASSWORD.match(value)) and (name.lower().endswith("_proxy") or looks_random(unquote(found[1]))):
            register_login(value)


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name likely holds a key."""
    return _SECRET_NAME.search(name) is not None


def looks_random(value: str) -> bool:
    """Whether a value is long, one word, no path and no address, and holds both letters and digits."""
    word = len(value) >= LIKELY and value.isprintable() and value[0] not in "/~."
    return (
        word
        and not (" " in value or "://" in value)
        and any(sign.isdigit() for sign in value)
        and any(sign.isalpha() for sign in value)
    )


def redact(text: str) -> str:
    """The text with ``[key]`` in place of every registered secret."""
    for secret in _known:
        text = secret.out_of(text)
    return text


def redact_file(content: bytes) -> bytes:
    """A file's content without secrets, if it is text in UTF-8. Other files are not changed, because a replacement
    would damage them."""
    try:
        return redact(content.decode()).encode()
    except UnicodeDecodeError:
        return content


def redact_logs() -> Callable[[], None]:
    """Keep secrets and logins out of every message of ``logging``, because libraries log requests and their headers.
    Returns a function that undoes it."""
    before = logging.getLogRecordFactory()
    formatter = logging.Formatter()

    def make(*args: Any, **options: Any) -> logging.LogRecord:
        record = before(*args, **options)
        try:
            record.msg, record.args = printed(record.getMessage()), ()
        except Exception:  # a message that does not fit its arguments, which the handlers will report
            return record
        if record.exc_info and record.exc_info[0]:
            record.exc_text = printed(formatter.formatException(record.exc_info))
        return record

    logging.setLogRecordFactory(make)
    return lambda: logging.setLogRecordFactory(before)


def printed(text: str) -> str:
    """A text for people, without secrets and logins."""
    return without_logins(redact(text))


class Printed:
    """A text stream that ``clean`` removes secrets from. Each call of ``write`` is cleaned by itself."""

    def __init__(self, stream: Any, clean: Callable[[str], str] = printed) -> None:
        self._stream = stream
        self._clean = clean

    def write(self, text: str) -> int:
        self._stream.write(self._clean(text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def redacted(value: Any) -> Any:
    """A JSON value whose texts and names are redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(name) if isinstance(name, str) else name: redacted(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(item) for item in value]
    return value


def dumps(value: Any, encoder: json.JSONEncoder) -> str:
    """JSON text without secrets. The value is only searched where its text holds one, which costs some microseconds
    a secret."""
    text = encoder.encode(value)
    return encoder.encode(redacted(value)) if any(secret.is_in(text) for secret in _known) else text


def without_logins(text: str) -> str:
    """The text with no user name and password in its addresses: ``http://user:password@host`` becomes
    ``http://host``."""
    return _LOGIN.sub(r"\1", text) if "@" in text else text


def _base64_forms(value: bytes) -> set[str]:
    """The characters of base64 that follow from the value alone, wherever in the encoded text it begins."""
    forms = set()
    for offset in range(3):
        encoded = b64encode(bytes(offset) + value + bytes(2)).decode()
        form = encoded[-(-offset * 8 // 6) : (offset + len(value)) * 8 // 6]
        forms |= {form, form.replace("+", "-").replace("/", "_")}
    return forms


def _spellings(part: str) -> set[str]:
    """Patterns of one character, or of several backslashes: as they are, and escaped in JSON, in an address, in HTML.

    All begin with a literal character, which lets ``re`` skip what cannot match. All are bounded, and none can match
    the same text in two ways, so that no text takes more than time in proportion to its length.
    """
    units = part.encode("utf-16-be").hex()
    found = {
        "".join(rf"\\\\{{0,{_NESTED - 1}}}u{_any_case(units[at : at + 4])}" for at in range(0, len(units), 4)),
        "".join(f"%{_any_case(f'{byte:02x}')}" for byte in part.encode()),
    }
    if part[0] == "\\":
        return found | {rf"\\\\{{{len(part) - 1},{_NESTED * len(part) - 1}}}"}
    if part in ('"', "/"):
        found.add(rf"\\\\{{0,{_NESTED - 1}}}{part}")
    return found | {re.escape(part), re.escape(html.escape(part))}


def _any_case(digits: str) -> str:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits)
