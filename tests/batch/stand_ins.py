"""Stand-ins for the batch APIs of OpenAI, Azure, Together, Anthropic and OpenRouter: real sockets, a scripted fate for
each request, and a bill.

A batch ends after so many polls (``polls``), never after a time.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

PROMPT, COMPLETION = 4.0, 12.0
"""US dollars per million tokens; half in a batch."""

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
        if not job.status and job.polls >= self.polls and end != "never":
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


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class OpenAIStandIn(StandIn):
    provider = "openai"
    request_path = "/v1/chat/completions"
    purpose = "batch"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{self.base}/files", self.upload),
            web.get(f"{self.base}/files/{{id}}/content", self.content),
            web.get(f"{self.base}/files/{{id}}", self.file),
            web.post(f"{self.base}/batches", self.post),
            web.get(f"{self.base}/batches", self.list),
            web.get(f"{self.base}/batches/{{id}}", self.get),
        ]

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        assert form["purpose"] == self.purpose, form["purpose"]
        identity = f"file-{len(self.files)}"
        self.files[identity] = form["file"].file.read()
        return web.json_response({"id": identity, "object": "file", "status": "processed"})

    async def file(self, request: web.Request) -> web.Response:
        return web.json_response({"id": request.match_info["id"], "status": "processed"})

    async def content(self, request: web.Request) -> web.Response:
        return web.Response(body=self.files[request.match_info["id"]], content_type="application/octet-stream")

    async def post(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert body["endpoint"] == self.request_path
        assert body["completion_window"] == "24h"
        rows = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        assert all(row["method"] == "POST" and row["url"] == self.request_path for row in rows)
        items = [(row["custom_id"], row["body"]) for row in rows]
        assert len({custom_id for custom_id, _ in items}) == len(items)
        job = self.create(items, body["input_file_id"])
        return await self.confirm(job, self.created(job), request)

    def created(self, job: Job) -> Any:
        return self.about(job)

    async def list(self, request: web.Request) -> web.Response:
        newest = sorted(self.jobs.values(), key=lambda job: -job.number)
        after = request.query.get("after")
        if after:
            newest = [job for job in newest if job.number < self.jobs[after].number]
        page = newest[:2]  # a short page, so that clients have to turn it
        return web.json_response(
            {
                "object": "list",
                "data": [self.about(job) for job in page],
                "last_id": page[-1].identity if page else None,
                "has_more": len(newest) > 2,
            }
        )

    async def get(self, request: web.Request) -> web.Response:
        job = self.poll(request.match_info["id"])
        if job.status and f"{job.identity}-out" not in self.files:
            self.files[f"{job.identity}-out"] = jsonl(
                [self.row(key, said) for key, said in reversed(job.served.items()) if isinstance(said, dict)]
            )
            self.files[f"{job.identity}-err"] = jsonl(
                [self.error(key, word) for key, word in job.served.items() if isinstance(word, str) and word != "lost"]
            )
        return web.json_response(self.about(job))

    def row(self, custom_id: str, said: dict[str, Any]) -> dict[str, Any]:
        response = {"status_code": 200, "request_id": "r", "body": said}
        return {"id": "b", "custom_id": custom_id, "response": response, "error": None}

    def error(self, custom_id: str, word: str) -> dict[str, Any]:
        if word == "expired":
            return {"custom_id": custom_id, "response": None, "error": {"code": "batch_expired", "message": "too late"}}
        status = 500 if word == "error" else 400
        body = {"error": {"message": f"made {word}", "code": None}}
        return {"custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": None}

    def about(self, job: Job) -> dict[str, Any]:
        done = bool(job.status)
        return {
            "id": job.identity,
            "object": "batch",
            "status": job.status or "in_progress",
            "input_file_id": job.upload,
            "created_at": int(job.created),
            "output_file_id": f"{job.identity}-out" if done else None,
            "error_file_id": f"{job.identity}-err" if done else None,
            "errors": {"data": [{"code": "bad", "message": "made to fail"}]} if job.status == "failed" else None,
            "request_counts": {"total": len(job.items), "completed": 0, "failed": 0},
        }


class AzureStandIn(OpenAIStandIn):
    """The interface has no version, an uploaded file is read first, and there is no error file where none failed."""

    provider = "azure"
    base = "/openai"
    request_path = "/chat/completions"

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.looks = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/openai/deployments/m-1/chat/completions", self.chat), *super().routes()]

    async def file(self, request: web.Request) -> web.Response:
        self.looks += 1
        status = "processed" if self.looks % 2 == 0 else "pending"
        return web.json_response({"id": request.match_info["id"], "status": status})

    async def post(self, request: web.Request) -> web.Response:
        if self.looks % 2:
            raise web.HTTPBadRequest(text=json.dumps({"error": {"message": "the file is not ready"}}))
        return await super().post(request)

    def about(self, job: Job) -> dict[str, Any]:
        about = super().about(job)
        with suppress(KeyError):
            about["error_file_id"] = about["error_file_id"] if self.files[f"{job.identity}-err"] else ""
        return about


class TogetherStandIn(OpenAIStandIn):
    """Upper-case statuses, a wrapped new batch, a list without pages, another address for uploads."""

    provider = "together"
    purpose = "batch-api"

    def routes(self) -> list[web.RouteDef]:
        return [web.post(f"{self.base}/files/upload", self.upload), *super().routes()]

    async def upload(self, request: web.Request) -> web.Response:
        assert request.path.endswith("/upload")
        form = await request.post()
        assert form["file_name"].endswith(".jsonl")
        assert form["file_type"] == "jsonl"
        return await super().upload(request)

    def created(self, job: Job) -> Any:
        return {"job": self.about(job), "warning": ""}

    async def list(self, request: web.Request) -> web.Response:
        return web.json_response([self.about(job) for job in self.jobs.values()])

    def about(self, job: Job) -> dict[str, Any]:
        about = super().about(job)
        error = "made to fail" if job.status == "failed" else None
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(job.created))
        return {**about, "status": about["status"].upper(), "error": error, "created_at": created}


class AnthropicStandIn(StandIn):
    provider = "anthropic"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{self.base}/messages/batches", self.post),
            web.get(f"{self.base}/messages/batches", self.list),
            web.get(f"{self.base}/messages/batches/{{id}}/results", self.results),
            web.get(f"{self.base}/messages/batches/{{id}}", self.get),
        ]

    async def post(self, request: web.Request) -> web.Response:
        self.check(request)
        body = await request.json()
        assert all(row["params"]["max_tokens"] for row in body["requests"])
        job = self.create([(row["custom_id"], row["params"]) for row in body["requests"]])
        return await self.confirm(job, self.about(job), request)

    async def list(self, request: web.Request) -> web.Response:
        self.check(request)
        newest = sorted(self.jobs.values(), key=lambda job: -job.number)
        if after := request.query.get("after_id"):
            newest = [job for job in newest if job.number < self.jobs[after].number]
        page = newest[:2]
        data = [self.about(job) for job in page]
        return web.json_response({"data": data, "last_id": page[-1].identity, "has_more": len(newest) > 2})

    async def get(self, request: web.Request) -> web.Response:
        self.check(request)
        return web.json_response(self.about(self.poll(request.match_info["id"])))

    async def results(self, request: web.Request) -> web.Response:
        self.check(request)
        job = self.jobs[request.match_info["id"]]
        rows = [{"custom_id": key, "result": self.result(said)} for key, said in job.served.items() if said != "lost"]
        return web.Response(body=jsonl(rows), content_type="application/x-jsonl")

    def result(self, said: Any) -> dict[str, Any]:
        if isinstance(said, str):
            kind = "api_error" if said == "error" else "invalid_request_error"
            error = {"type": "error", "error": {"type": kind, "message": f"made {said}"}}
            return {"type": "expired"} if said == "expired" else {"type": "errored", "error": error}
        usage = said["usage"]
        message = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": said["choices"][0]["message"]["content"]}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]},
        }
        return {"type": "succeeded", "message": message}

    def about(self, job: Job) -> dict[str, Any]:
        return {
            "id": job.identity,
            "type": "message_batch",
            "processing_status": "ended" if job.status else "in_progress",
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(job.created)),
            "request_counts": {"processing": len(job.items), "succeeded": 0, "errored": 0},
            "results_url": "http://127.0.0.1:1/elsewhere" if job.status else None,
        }

    def check(self, request: web.Request) -> None:
        assert request.headers["x-api-key"]
        assert request.headers["anthropic-version"] == "2023-06-01"
        assert "Authorization" not in request.headers


class OpenRouterStandIn(StandIn):
    provider = "openrouter"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{self.base}/batches", self.post),
            web.get(f"{self.base}/batches", self.list),
            web.get(f"{self.base}/batches/{{id}}", self.get),
        ]

    async def post(self, request: web.Request) -> web.Response:
        body = await request.json()
        assert list(body) == ["endpoint", "model", "completion_window", "requests"]
        assert all(row["body"]["model"] == body["model"] for row in body["requests"])
        job = self.create([(row["custom_id"], row["body"]) for row in body["requests"]])
        return await self.confirm(job, self.about(job), request, status=202)

    async def list(self, request: web.Request) -> web.Response:
        newest = sorted(self.jobs.values(), key=lambda job: -job.number)
        if after := request.query.get("after"):
            newest = [job for job in newest if job.number < self.jobs[after].number]
        page = newest[:2]
        data = [{**self.about(job), "results": None} for job in page]
        return web.json_response({"data": data, "last_id": page[-1].identity, "has_more": len(newest) > 2})

    async def get(self, request: web.Request) -> web.Response:
        return web.json_response(self.about(self.poll(request.match_info["id"])))

    def about(self, job: Job) -> dict[str, Any]:
        rows = [self.row(key, said) for key, said in job.served.items() if said != "lost"]
        return {
            "id": job.identity,
            "object": "batch",
            "status": job.status or "validating",
            "created_at": int(job.created),
            "request_counts": {"total": len(job.items) if job.polls else 0, "completed": 0, "failed": 0},
            "error": {"message": "made to fail"} if job.status == "failed" else None,
            "results": rows if job.status else None,
        }

    def row(self, custom_id: str, said: Any) -> dict[str, Any]:
        if isinstance(said, dict):
            return {"id": "r", "custom_id": custom_id, "response": {"status_code": 200, "body": said}, "error": None}
        kind = {"expired": "batch_expired", "error": "server_error"}.get(said, "invalid_request")
        return {"id": "r", "custom_id": custom_id, "response": None, "error": {"code": kind, "message": f"made {said}"}}


STAND_INS = (OpenAIStandIn, AzureStandIn, TogetherStandIn, AnthropicStandIn, OpenRouterStandIn)
