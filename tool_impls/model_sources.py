"""Where tools get models from: OpenAI-compatible endpoints, and weights in a folder or on a hub."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentgauge.core.errors import ToolError, ToolFault
from agentgauge.core.pictures import displayed, fitted, flattened
from agentgauge.core.redaction import redact, register, without_logins
from tool_impls.base import READY, unavailable
from tool_impls.bounds import read_picture
from tool_impls.settings import Option, ToolSettings

if TYPE_CHECKING:
    from openai import OpenAI
    from PIL.Image import Image


SECONDS = 120.0  # for one answer
LONGEST = 2048  # pixels of a side of a picture that is asked about; larger ones are scaled down

ENDPOINT = (
    Option("url", "text", None, "address of an OpenAI-compatible service"),
    Option("model", "text", None, "name of the model that it serves"),
    Option("key_env", "text", None, "environment variable that holds its key; none if it needs no key"),
)
"""Options of every back end that may be a service."""


@dataclass(frozen=True, slots=True)
class ServiceEndpoint:
    """An OpenAI-compatible service. The key stays in the environment, under the name ``key_env``."""

    url: str = field(repr=False)  # may hold a login
    model: str
    key_env: str | None = None

    @property
    def key(self) -> str | None:
        """The key. None if the service needs a key that is not set; a placeholder if it needs none."""
        key = (os.environ.get(self.key_env) or None) if self.key_env else "none"
        register(key)
        return key


def endpoint_of(settings: ToolSettings, table: str) -> ServiceEndpoint | None:
    """The endpoint that a table names, None if it names none (``url`` is not set)."""
    values = settings.values(table, ENDPOINT)
    return ServiceEndpoint(values["url"], values["model"] or "", values["key_env"]) if values["url"] else None


def endpoint_state(endpoint: ServiceEndpoint, table: str) -> str:
    """READY, or the setting that is missing or wrong. ``table`` is the endpoint's name in the settings: ``vision``."""
    if not endpoint.url.startswith(("http://", "https://")):
        got = without_logins(endpoint.url)
        return unavailable(f"url in [tools.{table}] must start with http:// or https://; got {got!r}")
    if not endpoint.model:
        return unavailable(f"[tools.{table}] has a url but no model; give the name of the model that it serves")
    if endpoint.key is None:
        variable = f"environment variable {endpoint.key_env}, which is not set"
        return unavailable(f"[tools.{table}] takes its key from the {variable}")
    return READY


class Vision:
    """Questions about a picture."""

    def __init__(self, endpoint: ServiceEndpoint, max_tokens: int = 512) -> None:
        self._endpoint = endpoint
        self._max_tokens = max_tokens

    def ask(self, image: Image, question: str) -> str:
        """The model's answer, stripped. Raises ToolFault when the service fails, ToolError when it refuses."""
        address = "data:image/png;base64," + base64.b64encode(png(fitted(image, LONGEST))).decode()
        content: list[Any] = [{"type": "text", "text": question}, {"type": "image_url", "image_url": {"url": address}}]
        request: dict[str, Any] = {"messages": [{"role": "user", "content": content}], "max_tokens": self._max_tokens}
        with _guarded("vision", self._endpoint) as client:
            reply: Any = client.chat.completions.create(model=self._endpoint.model, temperature=0.0, **request)
        try:
            answer = reply.choices[0].message.content
        except (AttributeError, IndexError, TypeError):
            raise _not_understood("vision") from None
        if not isinstance(answer, str):
            raise _not_understood("vision")
        return redact(answer).strip()


class Painter:
    """Pictures from words, and changes to a picture."""

    def __init__(self, endpoint: ServiceEndpoint) -> None:
        self._endpoint = endpoint

    def paint(self, prompt: str) -> Image:
        """Raises as ``Vision.ask``."""
        with _guarded("image", self._endpoint) as client:
            reply = client.images.generate(**self._form(prompt))
        return _picture(reply)

    def edit(self, image: Image, instruction: str) -> Image:
        """Raises as ``Vision.ask``."""
        upload = ("image.png", png(flattened(image)), "image/png")  # an error in here is not the endpoint's
        with _guarded("image", self._endpoint) as client:
            reply = client.images.edit(image=upload, **self._form(instruction))
        return _picture(reply)

    def _form(self, prompt: str) -> dict[str, Any]:
        form = {"model": self._endpoint.model, "prompt": prompt, "n": 1}
        # The gpt-image models always answer in base64 and refuse the parameter; others may answer with an address.
        return form if self._endpoint.model.startswith("gpt-image") else {**form, "response_format": "b64_json"}


def png(image: Image) -> bytes:
    """The picture as PNG, as viewers display it."""
    buffer = io.BytesIO()
    displayed(image).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


@contextmanager
def _guarded(service: str, endpoint: ServiceEndpoint) -> Iterator[OpenAI]:
    """A client for one request. Messages hold the status only: a service may quote the key in its own text."""
    import openai

    try:
        with openai.OpenAI(base_url=endpoint.url, api_key=endpoint.key or "", timeout=SECONDS, max_retries=2) as client:
            yield client
    except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
        raise ToolError(f"the {service} service refused the request (HTTP {error.status_code})") from None
    except openai.APIStatusError as error:
        status = error.status_code
        raise ToolFault(f"the {service} endpoint answered HTTP {status}", cause=f"http {status}") from None
    except openai.APITimeoutError:
        raise ToolFault(f"the {service} endpoint gave no answer within {SECONDS:g} s", cause="timeout") from None
    except (openai.APIError, ValueError):  # ValueError: a body that is no JSON
        words = f"the {service} endpoint cannot be reached or does not answer in the OpenAI form"
        raise ToolFault(words, cause="connection") from None


def _picture(reply: Any) -> Image:
    try:
        data = base64.b64decode(reply.data[0].b64_json, validate=True)
        return read_picture(io.BytesIO(data), "the picture")
    except (AttributeError, IndexError, TypeError, ValueError, ToolError):
        raise _not_understood("image") from None


def _not_understood(service: str) -> ToolFault:
    return ToolFault(f"the {service} endpoint answered without a usable result", cause="protocol")


# -- weights


ALLOW_DOWNLOAD = Option("allow_download", "bool", False, "let weights be a name on the hub, fetched at the first need")


def weights_option(example: str) -> Option:
    fetched = "a name of `agentgauge fetch tools`"
    return Option(
        "weights", "weights", None, f"a folder or file, {fetched}, or with allow_download a name such as {example}"
    )


def resolve(settings: ToolSettings, table: str, given: str | None) -> Path | str | None:
    """The weights to load: an existing path, or a name on the hub if downloads are allowed; None without either.

    A local path comes first, so nothing is fetched in its place.
    """
    if given is None:
        return None
    if Path(given).exists():
        return Path(given)
    if not settings.value(table, ALLOW_DOWNLOAD):
        return None
    from tool_impls.published_weights import known

    return one.published if (one := known(given)) else given


def weights_state(settings: ToolSettings, table: str, given: str | None, default: str, size: str) -> str:
    """READY, or what to set. ``default`` and ``size``: a model that works, and what it takes on disk."""
    if resolve(settings, table, given) is not None:
        return READY
    if given is None:
        return unavailable(f"name its weights in [tools.{table}]: a local folder, or {to_fetch(default, size)}")
    return not_there(table, "weights", given)


def to_fetch(published: str, size: str) -> str:
    """How to get published weights, named by their name at the origin."""
    from tool_impls.published_weights import known

    one = known(published)
    assert one is not None, "a test compares what is suggested with what is known"
    return f"{one.name} ({size}), which `agentgauge fetch {one.name}` brings"


def not_there(table: str, option: str, given: str) -> str:
    """The state of a tool whose weights are neither a path nor fetched."""
    from tool_impls.published_weights import known

    advice = "to fetch that name from the hub set allow_download = true"
    if one := known(given):
        advice = f"get it with: agentgauge fetch {one.name}"
    return unavailable(f"{option} in [tools.{table}] names nothing that exists: {given}; {advice}")


def local(source: Path | str | None) -> tuple[Path, ...]:
    """The weights of a resolved source that lie on this machine."""
    return (source,) if isinstance(source, Path) else ()


def name_of(source: Path | str | None, given: str | None) -> str:
    """The name of the weights in reports: the base name of a local path, else the name on the hub."""
    return source.name if isinstance(source, Path) else source or given or ""
