"""What the stand-ins for batch APIs share: real sockets, a scripted fate for each request, and a bill.

A batch ends after so many polls (``polls``), never after a time.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

PROMPT, COMPLETION = 4.0, 12.0
"""US dollars per million tokens; half in a batch."""

ENDS = ("completed", "failed", "cancelled", "expired", "never")

Fate = Callable[[int, int], str]
"""From the number of a batch and of a request in it: "" (answered), "error", "refused", "expired", "lost"."""


def echo(body: dict[str, Any]) -> str:
    """The last word of the conversation."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return text.split()[-1]


def length(value: Any) -> int:
    """The characters of the texts in a message, the same in every provider's format."""
    if isinstance(value, str):
        return len(value)
    content = value.get("content", value.get("text", ""))
    return len(content) if isinstance(content, str) else sum(map(length, content or ()))


@dataclass
class Job:
    identity: str
    number: int
    items: list[tuple[str, dict[str, Any]]]
    upload: str = ""
    created: float = field(default_factory=time.time)
    polls: int = 0
    status: str = ""  # how it ended
    word: str = ""  # a status of another provider
    served: dict[str, Any] = field(default_factory=dict)  # custom id → chat completion or the word of a failure


class StandIn:
    """Serves until the block ends. Also answers chat completions, at full price."""

    base = "/v1"

    def __init__(self, reply: Callable[[dict[str, Any]], str] = echo, *, polls: int = 2) -> None:
        self.reply = reply
        self.polls = polls
        self.fate: Fate = lambda batch, number: ""
        self.ends: dict[int, str] = {}  # number of a batch → "failed", "cancelled", "expired", "never"
        self.on_create: Callable[[Job], object] = lambda job: None  # once it is created and not yet answered
        self.lose: set[int] = set()  # numbers of the batches whose creation is answered by a closed connection
        self.jobs: dict[str, Job] = {}
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}  # of uploaded files
        self.lists_files = True
        self.twice: Callable[[dict[str, Any]], list[dict[str, Any]]] = lambda row: [row]  # a result, as it is sent
        self.usd = 0.0
        self.answered = 0  # requests that were paid
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.refusals = 0  # so many of the next creations are refused, because the rate is limited
        self.out = 0  # so many of the next polls and downloads are answered with an error
        self.changed = threading.Condition()

    # -- what a provider does

    def create(self, items: list[tuple[str, dict[str, Any]]], upload: str = "") -> Job:
        job = Job(f"batch_{len(self.jobs)}", len(self.jobs), items, upload)
        self.jobs[job.identity] = job
        with self.changed:
            self.changed.notify_all()
        return job

    async def confirm(self, job: Job, answer: Any, request: web.Request, status: int = 200) -> web.Response:
        await asyncio.to_thread(self.on_create, job)
        if job.number in self.lose:
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(answer, status=status)

    def poll(self, identity: str) -> Job:
        if identity not in self.jobs:
            raise web.HTTPNotFound(text=json.dumps({"error": {"message": "no such batch"}}))
        job = self.jobs[identity]
        job.polls += 1
        with self.changed:
            self.changed.notify_all()
        end = self.ends.get(job.number, "completed")
        if end not in ENDS:  # a status that this provider does not know
            job.status = ""
            job.word = end
        elif not job.status and job.polls >= self.polls and end != "never":
            job.status = end
            for number, (custom_id, body) in enumerate(job.items if end != "failed" else ()):
                word = self.fate(job.number, number) or {"expired": "expired", "cancelled": "lost"}.get(end, "")
                job.served[custom_id] = word or self.complete(body, share=0.5)
        return job

    def complete(self, body: dict[str, Any], share: float) -> dict[str, Any]:
        text = self.reply(body)
        asked = sum(map(length, (*body.get("system", ()), *body["messages"])))
        used = {"prompt_tokens": asked // 4 + 1, "completion_tokens": len(text) // 4 + 1}
        self.usd += share * (used["prompt_tokens"] * PROMPT + used["completion_tokens"] * COMPLETION) / 1e6
        self.answered += 1
        message = {"role": "assistant", "content": text}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": used}

    async def chat(self, request: web.Request) -> web.Response:
        return web.json_response(self.complete(await request.json(), share=1))

    # -- the server

    def routes(self) -> list[web.RouteDef]:
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.base}"

    def __enter__(self) -> StandIn:
        ready = threading.Event()
        self._loop = asyncio.new_event_loop()

        async def serve() -> None:
            app = web.Application(client_max_size=1 << 30, middlewares=[self._note])
            app.add_routes([web.post(f"{self.base}/chat/completions", self.chat), *self.routes()])
            self._runner = web.AppRunner(app, shutdown_timeout=0.05)
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", 0)
            await site.start()
            self.port = self._runner.addresses[0][1]
            ready.set()

        def run() -> None:
            self._loop.create_task(serve())
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @web.middleware
    async def _note(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.seen.append(
            (request.method, request.path_qs, {key.lower(): value for key, value in request.headers.items()})
        )
        if self.refusals and request.method == "POST" and request.path.endswith("batches"):
            self.refusals -= 1
            return web.json_response({"error": {"message": "too many"}}, status=429, headers={"retry-after": "0"})
        if self.out and request.method == "GET":
            self.out -= 1
            return web.json_response({"error": {"message": "made to be out"}}, status=503)
        return await handler(request)

    def wait_for(self, jobs: int, *, polls: int = 0) -> None:
        """Until so many batches were created, and each of them was polled so often."""

        def reached() -> bool:
            return len(self.jobs) >= jobs and all(job.polls >= polls for job in self.jobs.values())

        with self.changed:
            assert self.changed.wait_for(reached, 60), self.jobs
