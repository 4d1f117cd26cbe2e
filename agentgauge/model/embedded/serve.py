"""The server of the embedded models: ``python -m agentgauge.model.embedded.serve --model oracle``.

Speaks OpenAI's chat completions, so that a run with an embedded model goes through the same client as a real one. Equal
requests get equal bytes: ids are digests, token counts are computed from the text, and there is no clock.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from agentgauge.agent.dialects.format import Format, ParsedCall, ParsedReply
from agentgauge.agent.dialects.registry import FAMILIES, format_of
from agentgauge.agent.native import render_reply
from agentgauge.core.announcement import import_file
from agentgauge.core.chat import CaseKey, ChatReply, ChatRequest
from agentgauge.core.errors import AgentGaugeError, UsageProblem
from agentgauge.core.processes import CommandParser, end_with_parent, given_listener
from agentgauge.core.task_registry import configure_tasks, find_task
from agentgauge.core.tracebacks import Link, author_traceback, place_of
from agentgauge.model.client import CASE_HEADER
from agentgauge.model.embedded.baseline import baseline_reply
from agentgauge.model.embedded.oracle import OracleModel
from agentgauge.model.embedded.scripted import ReplyScript

if TYPE_CHECKING:
    from aiohttp import web

Answer = Callable[[ChatRequest, CaseKey | None], ChatReply]

_BODY_LIMIT = 256 * 1024 * 1024  # bytes: pictures come inside the request
_FOLDERS = re.compile(r"(?:/[^\s/`'\"\\]+)+/")


def make_answer(model: str, data: dict[str, Path], dialect: str = "native") -> Answer:
    """The function behind a model name. Raises UsageProblem for an unknown one, a damaged script or an unknown
    dialect."""
    if model == "baseline":
        if dialect in FAMILIES:
            raise UsageProblem(
                f"baseline reads native and react requests only, not {dialect}; use another model or --dialect native"
            )
        return lambda request, _case: baseline_reply(request)
    if model.startswith("scripted:"):  # its replies are written as the model would write them
        script = ReplyScript.load(Path(model.removeprefix("scripted:")))
        return lambda request, case: script.answer(case or _turn_of(request))
    if model != "oracle":
        raise UsageProblem(f"there is no embedded model {model!r}; there are oracle, baseline and scripted:FILE")
    format = None if dialect == "native" else format_of(dialect)
    oracle = OracleModel(data, one_call=format is not None and not _holds_two_calls(format))

    def answer(request: ChatRequest, case: CaseKey | None) -> ChatReply:
        case = _needed(case)
        reply = oracle.answer(request, case)
        # what another role is asked is not in the dialect, such as what a simulated user is to say next
        is_spoken = not case.role and dialect in find_task(case.task).dialects
        return render_reply(format, reply) if format and is_spoken else reply

    return answer


def _turn_of(request: ChatRequest) -> CaseKey:
    """The case of a client that names none: the turn is the number of replies that the conversation holds."""
    turn = sum(message.get("role") == "assistant" for message in request.messages)
    return CaseKey("", "", 0, turn)


def _holds_two_calls(format: Format) -> bool:
    try:
        format.write(ParsedReply(None, (ParsedCall("a", "{}"), ParsedCall("b", "{}"))))
    except ValueError:
        return False
    return True


def _needed(case: CaseKey | None) -> CaseKey:
    if case is None:
        raise UsageProblem(f"this model answers by case and needs the header {CASE_HEADER}: task/sample/attempt/turn")
    return case


def read_case(header: str | None) -> CaseKey | None:
    if not header:
        return None
    parts = [unquote(part) for part in header.split("/")]
    if len(parts) not in (4, 5) or not (parts[2].isdecimal() and parts[3].isdecimal()):
        raise UsageProblem(f"the header {CASE_HEADER} must be task/sample/attempt/turn, not {header!r}")
    return CaseKey(parts[0], parts[1], int(parts[2]), int(parts[3]), *parts[4:])


def read_request(body: Any, case: CaseKey | None) -> ChatRequest:
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages or not all(isinstance(message, dict) for message in messages):
        raise UsageProblem("the body must be an object with a list of messages")
    return ChatRequest(messages=tuple(messages), tools=tuple(body.get("tools") or ()), seed=body.get("seed"), case=case)


def count_tokens(text: str) -> int:
    """A quarter of the characters, rounded up. Of a path only the name counts, so that a count does not depend on where
    a run or a data set lies."""
    return -(-len(_FOLDERS.sub("/", text)) // 4)


def completion(model: str, request: ChatRequest, reply: ChatReply, identity: str) -> dict[str, Any]:
    """The reply in the wire format."""
    ids = (call.id or f"call_{identity[:12]}_{number}" for number, call in enumerate(reply.tool_calls))
    calls = tuple(replace(call, id=id) for call, id in zip(reply.tool_calls, ids, strict=True))
    message = {"role": "assistant", **(reply.received or replace(reply, tool_calls=calls).message)}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    prompt = count_tokens(json.dumps([request.messages, request.tools], ensure_ascii=False))
    written = count_tokens(reply.text + "".join(call.name + call.arguments for call in reply.tool_calls))
    finish = "tool_calls" if reply.tool_calls and reply.finish_reason == "stop" else reply.finish_reason
    return {
        "id": f"chatcmpl-{identity}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written},
    }


def make_app(model: str, answer: Answer, *, latency: float = 0.0) -> web.Application:
    """``latency`` is in seconds."""
    from aiohttp import web

    from agentgauge.core.web_server import answering, whole_body

    async def complete(request: web.Request) -> web.Response:
        raw = await whole_body(request)
        with answering(request):
            if latency:
                await asyncio.sleep(latency)
            return respond(raw, request.headers.get(CASE_HEADER))

    def respond(raw: bytes, header: str | None) -> web.Response:
        try:
            chat = read_request(json.loads(raw), read_case(header))
            reply = answer(chat, chat.case)
        except (ValueError, AgentGaugeError) as error:
            return _error(400, str(error))
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            # A mistake of a benchmark's oracle (sys.exit, too), or a defect of ours: the server lives on, and its log
            # says why.
            traceback.print_exc()
            text = f"{type(error).__name__}: {error}"
            if mistake := author_traceback(error):
                return _error(422, f"internal error at {place_of(error)}: {text}", mistake)
            return _error(500, text)
        identity = hashlib.sha256((header or "").encode() + b"\0" + raw).hexdigest()[:24]
        return web.json_response(completion(model, chat, reply, identity))

    def _error(status: int, message: str, traceback: Sequence[Link] = ()) -> web.Response:
        error = {"message": message, "type": "embedded_model_error", "code": None, "traceback": traceback}
        return web.json_response({"error": error}, status=status)

    async def models(_request: web.Request) -> web.Response:
        served = {"id": model, "object": "model", "created": 0, "owned_by": "agentgauge"}
        return web.json_response({"object": "list", "data": [served]})

    async def health(_request: web.Request) -> web.Response:
        return web.json_response({"status": "ok", "model": model})

    app = web.Application(client_max_size=_BODY_LIMIT)
    app.add_routes(
        [web.post("/v1/chat/completions", complete), web.get("/v1/models", models), web.get("/health", health)]
    )
    return app


async def serve(model: str, answer: Answer, *, port: int, latency: float) -> None:
    """Serve until SIGTERM or SIGINT. Prints one JSON line with the address when ready."""
    from agentgauge.core.web_server import bind, served

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    given = given_listener()
    sockets = [given] if given else bind("127.0.0.1", port)
    async with served(make_app(model, answer, latency=latency), sockets) as bound:
        print(json.dumps({"url": f"http://127.0.0.1:{bound}"}), flush=True)
        await stop.wait()


def _data(text: str) -> tuple[str, Path]:
    name, equals, folder = text.partition("=")
    if not (name and equals and folder):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR, for example gta_atomic=/data/gta_dataset")
    return name, Path(folder)


def main(argv: Sequence[str] | None = None) -> int:
    parser = CommandParser(
        prog="agentgauge serve-model",
        description=(
            "Serve an embedded model on loopback in the OpenAI wire format. Prints one line of JSON with the address"
            " when ready, and serves until it gets SIGTERM or Ctrl-C."
        ),
        epilog=(
            "example: agentgauge serve-model --model baseline --port 8001, then: pytest --model mine --model-url"
            " http://127.0.0.1:8001/v1"
        ),
    )
    parser.add_argument("--model", required=True, metavar="NAME", help="oracle, baseline or scripted:FILE")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0, the default, takes a free one")
    parser.add_argument(
        "--data",
        type=_data,
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="folder of a data set, for oracle; default: the bundled one",
    )
    parser.add_argument(
        "--dialect", default="native", metavar="NAME", help="dialect in which oracle answers; default native"
    )
    parser.add_argument(
        "--options",
        type=json.loads,
        default={},
        metavar="JSON",
        help="""options of the benchmarks, for oracle, such as {"--wild-language": "zh"}""",
    )
    parser.add_argument(
        "--latency-ms",
        type=float,
        default=0.0,
        metavar="N",
        help="delay of every answer in milliseconds; default 0",
    )
    parser.add_argument(
        "--tasks",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="Python file that announces further tasks, such as a conftest.py, for oracle",
    )
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="DIR",
        help="folder from which the files of --tasks import modules, as pytest's setting pythonpath; may repeat",
    )
    options = parser.parse_args(argv)
    end_with_parent()
    sys.path[:] = dict.fromkeys([*options.path, *sys.path])
    try:
        for file in options.tasks:
            import_file(file)
        configure_tasks(options.options)
        answer = make_answer(options.model, dict(options.data), options.dialect)
        name = options.model.partition(":")[0]
        asyncio.run(serve(name, answer, port=options.port, latency=options.latency_ms / 1000))
        return 0
    except UsageProblem as problem:
        message = str(problem)
    except OSError as error:
        message = f"port {options.port} cannot be used: {error.strerror or error}; take another, or 0 for a free one"
    print(f"error: {message}", file=sys.stderr)
    return 4


if __name__ == "__main__":
    sys.exit(main())
