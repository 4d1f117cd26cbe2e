"""The endpoint proxy: what becomes of a request whose program has left."""

from __future__ import annotations

import asyncio
import json

import pytest

from agentgauge.core.chat import ChatReply
from agentgauge.run.chat_form import ProgramRequest
from agentgauge.run.endpoint_proxy import EndpointProxy, ProgramSession


@pytest.mark.parametrize("cancels", [False, True])
def test_a_request_of_a_program_that_has_left_is_awaited_or_cancelled(cancels: bool) -> None:
    """A case counts what its request costs; ``serve-model`` pays for nobody who has left."""

    async def left() -> str:
        begun, ended = asyncio.Event(), asyncio.get_running_loop().create_future()

        async def ask(_request: ProgramRequest) -> ChatReply:
            begun.set()
            try:
                await asyncio.sleep(0.3)
            except asyncio.CancelledError:
                ended.set_result("cancelled")
                raise
            ended.set_result("answered")
            return ChatReply("late")

        proxy = EndpointProxy(ProgramSession("m", ask, 4, "known"), cancels=cancels)
        port = await proxy.start()
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + body)
        await begun.wait()
        writer.close()
        how: str = await asyncio.wait_for(ended, 5)
        await proxy.close()
        return how

    assert asyncio.run(left()) == ("cancelled" if cancels else "answered")
