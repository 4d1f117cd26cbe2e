"""``agentgauge serve-model``: any model at an address of this machine, in OpenAI's format."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from agentgauge.core.chat import CaseKey, ChatModel, ChatReply, ChatRequest
from agentgauge.core.config import load_config
from agentgauge.core.errors import ModelFault, UsageProblem
from agentgauge.core.processes import CommandParser
from agentgauge.core.registry import Registry
from agentgauge.core.tracebacks import mistake_behind, with_mistake
from agentgauge.model.presets import resolve
from agentgauge.model.spec import ModelSpec
from agentgauge.run.chat_form import ProgramRequest, Refused
from agentgauge.run.endpoint_proxy import CASE_HEADER, EndpointProxy, ProgramSession

AT_ONCE = 1024
"""Concurrent requests; others wait. A real model's client sends as many of them as its endpoint takes."""


def main(argv: Sequence[str], tasks: Registry) -> int:
    """Returns the exit status: 0 after SIGTERM or Ctrl-C. Raises UsageProblem."""
    options = _parser().parse_args(argv)
    spec = resolve(options.model, url=options.model_url, config=load_config(root=Path.cwd()))
    if spec.kind != "oracle" and (options.data or options.options or options.dialect != "native"):
        raise UsageProblem("--data, --options and --dialect say how oracle answers; leave them out for other models")
    asyncio.run(_serve(spec, options, tasks.configured(options.options)))
    return 0


async def _serve(spec: ModelSpec, options: argparse.Namespace, tasks: Registry) -> None:
    """Serve until SIGTERM or SIGINT. Prints one line of JSON with the address when ready."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        model = _embedded(spec, options, tasks) if spec.embedded else _real(spec, scratch)
        stack.push_async_callback(model.close)
        seconds = options.latency_ms / 1000

        async def ask(request: ProgramRequest) -> ChatReply:
            await asyncio.sleep(seconds)
            return await _reply(spec, model, request)

        session = ProgramSession(model.name, ask, AT_ONCE, "all", any_name=spec.embedded)
        # a request of a client that has left costs nothing more
        proxy = EndpointProxy(session if spec.embedded else None, cancels=True)
        stack.push_async_callback(proxy.close)
        key = {} if spec.embedded else {"key": proxy.open(session)}  # who has it uses the key of the user's provider
        try:
            port = await proxy.start(options.port)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageProblem(
                f"port {options.port} cannot be used: {why}; take another, or 0 for a free one"
            ) from None
        print(json.dumps({"url": f"http://127.0.0.1:{port}", **key}), flush=True)
        await stop.wait()


def _embedded(spec: ModelSpec, options: argparse.Namespace, tasks: Registry) -> ChatModel:
    from agentgauge.model.embedded.model import EmbeddedModel

    return EmbeddedModel(spec, tasks=tasks, data=dict(options.data), dialect=options.dialect)


def _real(spec: ModelSpec, scratch: Path) -> ChatModel:
    from agentgauge.model.client import OpenAIModel
    from agentgauge.model.rates import FILE, rates_of

    return OpenAIModel(spec, rates=rates_of(spec, scratch / FILE))


async def _reply(spec: ModelSpec, model: ChatModel, request: ProgramRequest) -> ChatReply:
    """Raises Refused for a request that cannot be passed on as it is, or that an embedded model cannot answer, and
    Fault where a real model cannot be reached."""
    if spec.api == "responses" and request.extra:
        raise Refused(f"the Responses API, which this model is asked by, has no field {next(iter(request.extra))!r}")
    asked = ChatRequest(
        messages=request.messages,
        tools=request.tools,
        temperature=request.sampling.temperature,
        max_tokens=request.sampling.max_tokens,
        stop=request.stop,
        extra=request.extra,
        case=_case(request.case) if spec.embedded and request.case else None,
    )
    try:
        return await model.complete(asked)
    except ModelFault as fault:
        if not spec.embedded:
            raise
        if mistake_behind(fault):
            print(with_mistake(fault, "native"), file=sys.stderr)
        raise Refused(str(fault), code=fault.cause) from None


def _case(header: str) -> CaseKey:
    try:
        return CaseKey.of(header)
    except ValueError:
        raise Refused(f"the header {CASE_HEADER} must be task/sample/attempt/turn, not {header!r}") from None


def _data(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR, for example gta_atomic=/data/gta_dataset")
    return name, Path(folder)


def _options(text: str) -> Mapping[str, object]:
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise argparse.ArgumentTypeError(f'{text!r} is no JSON object, such as {{"--wild-language": "zh"}}')
    return options


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="agentgauge serve-model",
        description=(
            "Serve a model on this machine in the OpenAI format, with AgentGauge's retries and rate limits. Prints one"
            " line of JSON with the address when ready, and for a model of an endpoint with the key that requests need,"
            " and serves until it gets SIGTERM or Ctrl-C."
        ),
        epilog=(
            "example: agentgauge serve-model --model baseline --port 8001, then: pytest --model mine --model-url"
            " http://127.0.0.1:8001/v1"
        ),
    )
    add = parser.add_argument
    add("--model", required=True, metavar="NAME", help="any model that pytest --model takes")
    add("--model-url", metavar="URL", help="its endpoint, as with pytest")
    add("--port", type=int, default=0, help="port on 127.0.0.1; 0, the default, takes a free one")
    add("--latency-ms", type=float, default=0.0, metavar="N", help="delay of every answer in milliseconds; default 0")
    bundled = "folder of a data set, for oracle; default: the bundled one"
    add("--data", type=_data, action="append", default=[], metavar="NAME=DIR", help=bundled)
    add("--dialect", default="native", metavar="NAME", help="dialect in which oracle answers; default native")
    wild = """options of the benchmarks, for oracle, such as {"--wild-language": "zh"}"""
    add("--options", type=_options, default={}, metavar="JSON", help=wild)
    return parser
