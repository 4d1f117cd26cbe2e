"""The web server of ``agentgauge view``: our own pages, and untrusted files of agents.

Files of a run are served so that no script in them runs (CSP ``sandbox``) and no browser guesses their kind. Our pages
run our scripts alone: the report page by its hash, and transcripts only where they are plain base64.

Every web page that a browser shows can send requests to a server on loopback. It can also read the answers if it
changes the address of its own host name to 127.0.0.1 (DNS rebinding). But it can forge neither Host nor Sec-Fetch-Site,
and it knows no secret.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import mimetypes
import re
import secrets
import shlex
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from aiohttp import web

from agentgauge.core.announcement import announced
from agentgauge.core.errors import UsageProblem
from agentgauge.core.files import OwnFolder
from agentgauge.core.registry import Registry
from agentgauge.core.web_server import answering
from agentgauge.run.live import LiveRun
from agentgauge.run.report_form import ReportForm
from agentgauge_reports.comparison import compare
from agentgauge_reports.comparison.page import page as comparison_page
from agentgauge_reports.comparison.page import policy as comparison_policy
from agentgauge_reports.view.runs import Runs, open_beneath, reading_problem

LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.ASCII | re.IGNORECASE)
"""Accepted values of Host."""


class ViewerAccess:
    """The access rules: the first visit has ``token`` in its address and gets a cookie; every later visit has the
    cookie.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.cookie = secrets.token_urlsafe(24)

    def refusal(self, method: str, headers: Mapping[str, str], *, token: str | None, cookie: str | None) -> str | None:
        """Why a request is refused; None if it is accepted. A port forwarded by ssh may have any number."""
        if method not in ("GET", "HEAD"):
            return "only GET and HEAD are accepted"
        host = headers.get("Host", "")
        if not LOOPBACK.fullmatch(host):
            return f"this viewer does not serve the host {host[:100]!r}; use localhost, over ssh with a forwarded port"
        if headers.get("Origin", f"http://{host}") != f"http://{host}":
            return "requests of other web pages are refused"
        if token is not None and hmac.compare_digest(token.encode(), self.token.encode()):
            return None
        if headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            return "requests of other web pages are refused"
        if cookie is not None and hmac.compare_digest(cookie.encode(), self.cookie.encode()):
            return None
        return "open the address that agentgauge view has printed, with its token"


# -- the server

SECONDS = 1.0
"""Seconds between two reads of a running run."""

QUIET = 15
"""Reads without news after which a keep-alive message is sent, so that a closed browser is noticed."""

BLOCK = 1 << 16

HOME = "/"
"""The address of the list of runs."""

_HERE = Path(__file__).parent
_STATIC = {
    "view.js": (_HERE / "view.js", "text/javascript"),
    "view.css": (_HERE / "view.css", "text/css"),
    "style.css": (_HERE.parent / "style.css", "text/css"),
}
_CHUNK = re.compile(rb'agentgaugeChunk\(\d+, "[A-Za-z0-9+/=]*"\);\n')

_FORWARD = (
    '<!doctype html><link rel="icon" href="data:,"><meta http-equiv="refresh" content="0;url=/"><a href="/">Runs</a>'
)
_NO_FRAME = "; frame-ancestors 'none'"
_BESIDE = "; frame-ancestors 'self'"
"""A comparison shows the pages of its runs side by side. Files of a run have an origin of their own, so they cannot."""
_OURS = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " base-uri 'none'; form-action 'none'" + _NO_FRAME
)
_FOREIGN = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:" + _NO_FRAME
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Viewer:
    """Serves one folder of runs. ``close`` removes the files that the viewer has written."""

    def __init__(self, root: Path, tasks: Registry) -> None:
        """``tasks``: all that are known. Raises UsageProblem if the folder does not exist."""
        self._tasks = tasks
        self.runs = Runs(root, tasks)
        self.access = ViewerAccess()
        self._live: dict[str, tuple[float, LiveRun, asyncio.Lock]] = {}  # name → start of the run, what is known of it
        self._states: dict[str, tuple[float, dict[str, Any]]] = {}  # name → when it was looked at, what was found
        self._listed: tuple[float, list[dict[str, Any]]] = (-SECONDS, [])  # the same of the list
        self._listing = asyncio.Lock()
        self._scratch = OwnFolder("view")
        self._pages: dict[str, tuple[object, asyncio.Task[tuple[Path, str]]]] = {}
        self._writing = asyncio.Lock()
        self._ending = asyncio.Event()

    def close(self) -> None:
        self._scratch.close()

    def app(self) -> web.Application:
        async def end(app: web.Application) -> None:
            self._ending.set()

        app = web.Application(middlewares=[self._guard])
        app.on_shutdown.append(end)
        app.router.add_get("/", self._index)
        app.router.add_get("/static/{name}", self._static)
        app.router.add_get("/events", self._events, allow_head=False)
        app.router.add_get("/run/-/compare", self._compare)
        app.router.add_get("/run/{path:.+}", self._run)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        token = request.query.get("token") if request.path == "/" else None
        cookie = request.cookies.get(_cookie(request))
        try:
            reason = self.access.refusal(request.method, request.headers, token=token, cookie=cookie)
            if reason is not None:
                return _text(403, f"{reason[:1].upper()}{reason[1:]}.")
            if token is None:
                with answering(request):
                    return await handler(request)
        except UsageProblem as problem:
            return _text(400, str(problem))
        except (web.HTTPException, OSError, ValueError):
            return _text(404, "There is no such page; the list of runs is at /.")
        # a page, not a redirect: from a link elsewhere a browser would not send the strict cookie along with that
        answer = _page(_FORWARD, _OURS)
        name, value = _cookie(request), self.access.cookie
        answer.set_cookie(name, value, httponly=True, samesite="Strict", path="/")
        return answer

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return _page((_HERE / "view.html").read_text(encoding="utf-8"), _OURS)

    async def _static(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["name"] not in _STATIC:
            raise web.HTTPNotFound
        file, kind = _STATIC[request.match_info["name"]]
        return web.Response(body=file.read_bytes(), content_type=kind, charset="utf-8", headers=_headers(_OURS))

    # -- what goes on

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: the list of runs, or with ``?run=NAME`` the state of one, whenever it has changed."""
        found = self.runs.find(request.query.get("run", ""))
        if "run" in request.query and (found is None or found[1]):
            raise web.HTTPNotFound
        answer = web.StreamResponse(headers=_headers(_FOREIGN) | {"Content-Type": "text/event-stream"})
        await answer.prepare(request)
        try:
            async for news in self._news(found[0] if found else None):
                await answer.write(news)
        except ConnectionError:  # the browser has gone
            pass
        return answer

    async def _news(self, name: str | None) -> AsyncIterator[bytes]:
        last, quiet = b"", 0
        while not self._ending.is_set():
            state = await self._state(name) if name else await self._list()
            text = json.dumps(state, separators=(",", ":"), allow_nan=False).encode()
            if text != last or quiet >= QUIET:
                yield b"data: " + text + b"\n\n"
                last, quiet = text, 0
            quiet += 1
            try:
                await asyncio.wait_for(self._ending.wait(), SECONDS)
            except TimeoutError:
                continue

    async def _list(self) -> dict[str, Any]:
        async with self._listing:  # however many browsers look
            looked, listed = self._listed
            if time.monotonic() - looked >= SECONDS * 0.9:
                listed = [await self._with_counts(entry) for entry in await asyncio.to_thread(self.runs.list)]
                self._listed = (time.monotonic(), listed)
        return {"root": str(self.runs.root), "runs": listed}

    async def _with_counts(self, entry: dict[str, Any]) -> dict[str, Any]:
        if entry["state"] != "running":
            return entry
        now = await self._state(entry["name"])  # it may have ended meanwhile
        return now | {key: now["live"][key] for key in ("counts", "planned", "left")} if "live" in now else now

    async def _state(self, name: str) -> dict[str, Any]:
        """The entry of a run; ``live`` while it goes on, and for one that has stopped."""
        entry = await asyncio.to_thread(self.runs.entry, name)
        if entry["state"] == "finished" or entry["problem"]:
            self._live.pop(name, None)
            return entry
        started = entry["started"] or 0.0
        if name not in self._live or self._live[name][0] != started:
            self._live[name] = (started, LiveRun(self.runs.root / name), asyncio.Lock())
            self._states.pop(name, None)
        _, live, lock = self._live[name]
        async with lock:  # however many browsers look
            looked, state = self._states.get(name, (0.0, {}))
            if time.monotonic() - looked >= SECONDS * 0.9:
                try:
                    await asyncio.to_thread(live.read, started)
                except Exception as problem:  # the other runs are shown
                    return entry | {"state": "stopped", "problem": reading_problem(problem)}
                state = await asyncio.to_thread(live.state)
                self._states[name] = (time.monotonic(), state)
        if entry["state"] == "running":
            return entry | {"live": state, "now": time.time()}
        return entry | {"live": state, "resume": f"pytest --resume {shlex.quote(str(self.runs.root / name))}"}

    # -- what is finished

    async def _run(self, request: web.Request) -> web.StreamResponse:
        """The report page of a run, its transcripts, and files."""
        found = self.runs.find(request.match_info["path"])
        if found is None:
            raise web.HTTPNotFound
        name, rest = found
        if not rest:
            return web.Response(status=302, headers=_headers(_OURS) | {"Location": f"/run/{quote(name)}/report.html"})
        if rest == "files" or rest.startswith("files/"):
            return await _file(request, open_beneath(self.runs.root / name, rest.split("/")), rest)
        written, policy = await self._written(name)
        if rest == "report.html":
            return _page((written / rest).read_text(encoding="utf-8"), policy + _BESIDE)
        folder, _, file = rest.partition("/")
        if folder != "report-data":
            raise web.HTTPNotFound
        stream = open_beneath(written, ["report-data", *file.split("/")])
        if not file.endswith(".js"):
            return await _file(request, stream, rest)
        with stream:
            body = await asyncio.to_thread(stream.read)
        if not _CHUNK.fullmatch(body):
            raise web.HTTPNotFound
        return web.Response(body=body, content_type="text/javascript", charset="utf-8", headers=_headers(_FOREIGN))

    async def _written(self, name: str) -> tuple[Path, str]:
        """The folder of a run's page, and the page's policy. It is written anew from the records: what lies in a run
        folder may be of another version, or of another's making. Raises UsageProblem for a run that has not finished,
        and where no plugin writes pages."""
        entry = await asyncio.to_thread(self.runs.entry, name)
        if entry["problem"]:
            raise UsageProblem(f"this run cannot be read: {entry['problem']}")
        if entry["state"] != "finished":
            raise UsageProblem(
                f"{name} has not finished, so it has no report yet; see its progress from the list of runs at /"
            )
        version, writing = self._pages.get(name, (None, None))
        if writing is None or version != entry or (writing.done() and writing.exception()):
            folder = self._scratch.path / hashlib.sha256(name.encode()).hexdigest()[:16]
            writing = asyncio.create_task(self._write(self.runs.root / name, folder))
            self._pages[name] = (entry, writing)
        return await asyncio.shield(writing)

    async def _write(self, run: Path, folder: Path) -> tuple[Path, str]:
        forms: list[ReportForm] = [form for _, form in announced("reports")]
        serve = next((form.serve for form in forms if form.serve), None)
        if serve is None:
            raise UsageProblem("no plugin that is installed writes the page of a run")

        def write() -> str:
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier state of the run
            folder.mkdir(parents=True)
            try:
                return serve(run, folder / "report.html", tasks=self._tasks, links_from=run, home=HOME)
            except Exception as problem:
                raise UsageProblem(f"the page of this run cannot be written: {reading_problem(problem)}") from problem

        async with self._writing:  # one at a time: the page of a long run takes a processor and much memory
            return folder, await asyncio.to_thread(write)

    async def _compare(self, request: web.Request) -> web.StreamResponse:
        """``?run=A&run=B``: what ``agentgauge compare A B`` writes."""
        found = [self.runs.find(name) for name in request.query.getall("run", [])]
        names = [one[0] for one in found if one and not one[1]]
        if len(names) != len(found):
            raise web.HTTPNotFound
        paths = [self.runs.root / name for name in names]
        # this page lies beside the runs, so that links lead to theirs
        try:
            data = await asyncio.to_thread(compare, paths, self.runs.root / "-", self._tasks)
        except Exception as problem:
            raise UsageProblem(reading_problem(problem)) from problem
        return _page(comparison_page(data, home=HOME), comparison_policy() + _NO_FRAME)


def _cookie(request: web.Request) -> str:
    """Another for each viewer: a browser sends a host's cookies to all its ports."""
    transport = request.transport
    return f"agentgauge-view-{transport.get_extra_info('sockname')[1] if transport else ''}"


def _headers(content_policy: str) -> dict[str, str]:
    return {**_HEADERS, "Content-Security-Policy": content_policy}


def _page(html: str, content_policy: str) -> web.Response:
    return web.Response(text=html, content_type="text/html", headers=_headers(content_policy))


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", content_type="text/plain", headers=_headers(_FOREIGN))


async def _file(request: web.Request, stream: BinaryIO, name: str) -> web.StreamResponse:
    """A file as it is. Pictures, sound and video are shown; everything else is saved by the browser."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers: Mapping[str, str] = _headers(_FOREIGN) | {"Content-Type": kind}
    if not kind.startswith(("image/", "audio/", "video/")):
        headers = {**headers, "Content-Type": "application/octet-stream", "Content-Disposition": "attachment"}
    answer = web.StreamResponse(headers=headers)
    with stream:
        await answer.prepare(request)
        while block := await asyncio.to_thread(stream.read, BLOCK):
            await answer.write(block)
    await answer.write_eof()
    return answer
