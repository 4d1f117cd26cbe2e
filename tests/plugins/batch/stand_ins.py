"""Stand-ins for the batch APIs of OpenAI, Azure, Together, Anthropic and OpenRouter."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

from aiohttp import web

from tests.plugins.batch.stand_in import Job, StandIn


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


class OpenAIStandIn(StandIn):
    provider = "openai"
    request_path = "/v1/chat/completions"
    purpose = "batch"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post(f"{self.base}/files", self.upload),
            web.get(f"{self.base}/files", self.list_files),
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
        self.names[identity] = form["file"].filename
        self.files[identity] = form["file"].file.read()
        return web.json_response({"id": identity, "object": "file", "status": "processed"})

    async def list_files(self, request: web.Request) -> web.Response:
        if not self.lists_files:
            raise web.HTTPMethodNotAllowed("GET", ["POST"])
        files = [{"id": identity, "filename": name} for identity, name in self.names.items()]
        return web.json_response({"object": "list", "data": files, "has_more": False})

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
                [
                    row
                    for key, said in reversed(job.served.items())
                    if isinstance(said, dict)
                    for row in self.twice(self.row(key, said))
                ]
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
            "status": job.status or job.word or "in_progress",
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
        sent = [one for row in rows for one in self.twice(row)]
        return web.Response(body=jsonl(sent), content_type="application/x-jsonl")

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
            "processing_status": "ended" if job.status else job.word or "in_progress",
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
        rows = [row for key, said in job.served.items() if said != "lost" for row in self.twice(self.row(key, said))]
        return {
            "id": job.identity,
            "object": "batch",
            "status": job.status or job.word or "validating",
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
