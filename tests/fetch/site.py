"""Servers on loopback that imitate GitHub (API, release downloads with a redirect to another host, raw files) and the
hub.

with Site() as site:
    site.release("open-compass/GTA", "v0.1.0", {"gta_dataset.zip": content})
    ...  # fetch with --mirror site.url
site.served  # bytes of content that went out, by file name
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import quote, unquote, urlsplit

Answer = Callable[["_Handler", bytes], None]
"""A fault: answers a request for this content instead of the server."""

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class _File:
    content: bytes
    elsewhere: bool  # the first host redirects to the second
    headers: dict[str, str]


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Quiet: clients leave."""


class Site:
    """Two hosts: ``url`` answers as the sources do, the other one, of another port, holds large files."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}  # path → file
        self.documents: dict[str, Any] = {}  # path → JSON
        self.faults: dict[str, list[Answer]] = {}  # end of a path → what comes first
        self.served: Counter[str] = Counter()
        self.asked: list[tuple[str, str, dict[str, str]]] = []  # method, path, headers in lower case
        self._servers = [_Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": self})) for _ in range(2)]
        self.url, self.other = (f"http://127.0.0.1:{server.server_address[1]}" for server in self._servers)

    def __enter__(self) -> Site:
        for server in self._servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def put(self, path: str, content: bytes, *, elsewhere: bool = False, **headers: str) -> None:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        self.files[path] = _File(content, elsewhere, sent)

    def release(
        self, repo: str, tag: str, assets: Mapping[str, bytes], *, digests: bool = True, api: bool = True
    ) -> None:
        told = []
        for name, content in assets.items():
            path = f"/{repo}/releases/download/{tag}/{name}"
            self.put(path, content, elsewhere=True)
            digest = f"sha256:{hashlib.sha256(content).hexdigest()}" if digests else None
            told.append(
                {
                    "name": name,
                    "size": len(content),
                    "digest": digest,
                    "browser_download_url": f"https://github.com{path}",
                }
            )
        if api:
            self.documents[f"/repos/{repo}/releases/tags/{tag}"] = {"tag_name": tag, "assets": told}

    def raw(self, repo: str, path: str, content: bytes) -> None:
        self.put(f"/{repo}/HEAD/{path}", content)

    def hub(
        self,
        repo: str,
        files: Mapping[str, bytes],
        *,
        large: int = 100_000,
        commit: str = COMMIT,
        kind: str = "datasets",
    ) -> None:
        """As ``/api/KIND/REPO/revision/REVISION?blobs=True`` answers and ``/REPO/resolve/COMMIT/FILE``, where data sets
        have ``/datasets`` in front and models nothing. The library first asks for the headers of a file: its commit,
        and the tag and size of what a redirect leads to.

        ``large``: bytes from which a file is in Git LFS, with a published SHA-256; smaller ones have a git checksum.
        ``kind``: "datasets" or "models".
        """
        page = f"/datasets/{repo}" if kind == "datasets" else f"/{repo}"
        siblings = []
        for name, content in files.items():
            lfs = len(content) >= large
            sha256, git_sha1 = hashlib.sha256(content).hexdigest(), _git_sha1(content)
            tag = f'"{sha256 if lfs else git_sha1}"'
            linked = {"X_Linked_Etag": tag, "X_Linked_Size": str(len(content))}
            self.put(
                f"{page}/resolve/{commit}/{name}", content, elsewhere=lfs, X_Repo_Commit=commit, ETag=tag, **linked
            )
            one: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": git_sha1}
            if lfs:
                one["lfs"] = {"sha256": sha256, "size": len(content), "pointerSize": 130}
            siblings.append(one)
        for revision in ("main", commit):
            self.documents[f"/api/{kind}/{repo}/revision/{revision}"] = {
                "id": repo,
                "sha": commit,
                "siblings": siblings,
            }

    def fault(self, end: str, *answers: Answer) -> None:
        """The next requests whose path ends so are answered by these, one each; the last of them for ever where it
        is ``always``."""
        self.faults[end] = list(answers)

    def count(self, end: str, method: str = "GET") -> int:
        """Requests whose path ends so."""
        return sum(path.endswith(end) and asked == method for asked, path, _ in self.asked)


def _git_sha1(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path)
        if "//" in path[1:]:  # asked as a proxy: with scheme and host
            path = unquote(urlsplit(self.path).path)
        self.site.asked.append((self.command, path, {name.lower(): value for name, value in self.headers.items()}))
        file = self.site.files.get(path.removeprefix("/blob"))
        fault = next((one for end, one in self.site.faults.items() if path.endswith(end) and one), None)
        away = file and file.elsewhere and not path.startswith("/blob/")
        if fault and not away and (body or getattr(fault[0], "plain", False)):
            answer = fault[0] if getattr(fault[0], "always", False) else fault.pop(0)
            answer(self, file.content if file else b"")
        elif path in self.site.documents:
            self.send(
                200, json.dumps(self.site.documents[path]).encode(), {"Content-Type": "application/json"}, body=body
            )
        elif file is None:
            self.send(404, b"Not Found", {}, body=body)
        elif away:
            there = f"{self.site.other}/blob{quote(path)}?signature={len(self.site.asked)}"
            self.send(302, b"", {**file.headers, "Location": there}, body=body)
        else:
            self.content(path, file, body=body)

    def content(self, path: str, file: _File, *, body: bool = True, most: int | None = None) -> None:
        """A file. ``most``: the connection is closed after so many bytes of it."""
        whole = len(file.content)
        part = file.content[:most] if body else b""
        self.send_response(200)
        for name, value in {**file.headers, "Content-Length": str(whole)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(part)
        self.wfile.flush()
        self.site.served[path.rpartition("/")[2]] += len(part)
        self.close_connection = self.close_connection or (body and most is not None)

    def send(self, status: int, content: bytes, headers: Mapping[str, str], *, body: bool = True) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


def status(code: int, **headers: str) -> Answer:
    def answer(handler: _Handler, _content: bytes) -> None:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        handler.send(code, b"no", sent, body=handler.command != "HEAD")

    answer.plain = True  # type: ignore[attr-defined]  # for HEAD too
    return answer


def always(answer: Answer) -> Answer:
    answer.always = True  # type: ignore[attr-defined]
    return answer


def cut(count: int) -> Answer:
    """So many bytes, then the connection is closed."""

    def answer(handler: _Handler, _content: bytes) -> None:
        path = unquote(urlsplit(handler.path).path)
        handler.content(path, handler.site.files[path.removeprefix("/blob")], most=count)

    return answer


def stall(count: int, go_on: threading.Event) -> Answer:
    """So many bytes, then silence until the event."""

    def answer(handler: _Handler, content: bytes) -> None:
        cut(count)(handler, content)
        go_on.wait(20)

    return answer


def instead(content: bytes) -> Answer:
    """Other content, of the same path."""

    def answer(handler: _Handler, _content: bytes) -> None:
        handler.content(unquote(urlsplit(handler.path).path), _File(content, False, {}))

    return answer
