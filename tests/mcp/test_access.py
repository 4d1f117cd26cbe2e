"""Who reaches a session: by its token only, from this machine's programs only, while it is open."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from tests.mcp.sessions import Sample, connected, started, texts
from tool_impls.mcp.gateway import MOST_BODY

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
PLAIN = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://localhost:PORT", "Host": "localhost:PORT"}, 200),
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Basic TOKEN"}, 401),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
    ],
)
def test_requests_that_are_refused(headers: dict[str, str], status: int, tmp_path: Path) -> None:
    async def main() -> None:
        async with started() as gateway, httpx2.AsyncClient() as http:
            token = gateway.open(Sample(tmp_path).session())
            given = {"Authorization": f"Bearer {token}", **headers}
            filled = {
                name: value.replace("PORT", str(gateway.port)).replace("TOKEN", token) for name, value in given.items()
            }
            answer = await http.post(gateway.url, json=LIST, headers={**PLAIN, **filled})
            assert answer.status_code == status, answer.text
            assert ("Flip" in answer.text) == (status == 200)

    asyncio.run(main())


def test_each_token_has_its_own_files_and_a_closed_one_none(tmp_path: Path) -> None:
    async def main() -> None:
        samples = [Sample(folder) for folder in (tmp_path / "a", tmp_path / "b")]
        async with started() as gateway:
            first, second = (gateway.open(sample.session()) for sample in samples)
            async with connected(gateway.url, first) as one, connected(gateway.url, second) as two:
                made = (await one.call_tool("Flip", {"image": "image/cat.png"})).content[2].uri
                refused = await two.call_tool("Flip", {"image": made})
                assert refused.is_error and "there is no file" in texts(refused)
                assert samples[1].calls == []
            gateway.close_session(first)
            gateway.close_session(first)
            async with httpx2.AsyncClient() as http:
                for token, status in ((first, 401), (second, 200)):
                    headers = {**PLAIN, "Authorization": f"Bearer {token}"}
                    assert (await http.post(gateway.url, json=LIST, headers=headers)).status_code == status

    asyncio.run(main())


def test_closing_a_session_ends_its_calls(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway:
            token = gateway.open(sample.session())
            async with connected(gateway.url, token) as client:
                waiting = asyncio.create_task(client.call_tool("Wait", {}))
                await asyncio.wait_for(sample.waiting.wait(), 10)
                gateway.close_session(token)
                result = await asyncio.wait_for(waiting, 10)
        assert result.is_error and texts(result) == "the session was closed while Wait ran"

    asyncio.run(main())


def test_a_call_whose_body_comes_after_the_end_is_not_run(tmp_path: Path) -> None:
    """The token is checked before the body is read."""
    sample = Sample(tmp_path)

    async def main() -> None:
        async with started() as gateway, httpx2.AsyncClient() as http:
            token = gateway.open(sample.session())
            params = {"name": "Add", "arguments": {"a": 1, "b": 2}}
            body = json.dumps({**LIST, "method": "tools/call", "params": params}).encode()

            async def parts() -> AsyncIterator[bytes]:
                yield body[:10]
                await asyncio.sleep(0.2)  # the guard has seen the head
                gateway.close_session(token)
                yield body[10:]

            headers = {**PLAIN, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            answer = await http.post(gateway.url, content=parts(), headers=headers)
            assert "the session was closed before Add ran" in answer.text

    asyncio.run(main())
    assert sample.calls == []


def test_a_gateway_ends_with_calls_that_run(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway, connected(gateway.url, gateway.open(sample.session())) as client:
            waiting = asyncio.create_task(client.call_tool("Wait", {}))
            await asyncio.wait_for(sample.waiting.wait(), 10)
            await asyncio.wait_for(gateway.close(), 10)
            assert texts(await waiting) == "the session was closed while Wait ran"

    asyncio.run(main())


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(chunked: bool, tmp_path: Path) -> None:
    async def main() -> None:
        async def parts() -> AsyncIterator[bytes]:
            for _ in range(MOST_BODY // (1 << 20) + 1):
                yield b" " * (1 << 20)

        async with started() as gateway, httpx2.AsyncClient() as http:
            token = gateway.open(Sample(tmp_path).session())
            headers = {**PLAIN, "Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            body = parts() if chunked else b" " * (MOST_BODY + 1)
            answer = await http.post(gateway.url, content=body, headers=headers)
            assert answer.status_code == 413

    asyncio.run(main())


def test_a_session_may_have_a_limit_of_calls(tmp_path: Path) -> None:
    async def main() -> None:
        sample = Sample(tmp_path)
        async with started() as gateway:
            token = gateway.open(replace(sample.session(), most_calls=1))
            async with connected(gateway.url, token) as client:
                results = [await client.call_tool("Add", {"a": 1, "b": 2}) for _ in range(2)]
        assert [result.is_error for result in results] == [False, True]
        assert sample.refused == [("Add", "this task has used its 1 tool calls")]

    asyncio.run(main())


def test_many_sessions_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with started() as gateway:

            async def one(number: int) -> None:
                sample = Sample(tmp_path / str(number))
                async with connected(gateway.url, gateway.open(sample.session())) as client:
                    for _ in range(2):
                        await client.call_tool("Add", {"a": number, "b": 0.5})
                assert sample.calls == [("Add", {"a": number, "b": 0.5})] * 2

            await asyncio.gather(*map(one, range(40)))

    asyncio.run(main())
