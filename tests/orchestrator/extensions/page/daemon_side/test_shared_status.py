"""Answers that are shared by all who look."""

import anyio
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.extensions.page.daemon_side.shared_status import FRESH_SECONDS, SharedStatus
from thinker.protocol.peer import Params


async def test_many_windows_ask_once() -> None:
    """While the answer is fresh, and again after it or after something was done."""
    asked: list[JsonValue] = []
    now = 0.0

    async def status(params: JsonValue) -> Params:
        asked.append(params)
        await anyio.lowlevel.checkpoint()
        return {"number": len(asked)}

    looks = SharedStatus(lambda: now)
    ask = looks.share_handlers({protocol.STATUS: status})[protocol.STATUS]

    async def look() -> None:
        await ask(None)

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(look)
    assert len(asked) == 1
    assert await ask(None) == {"number": 1}
    now = FRESH_SECONDS
    assert await ask(None) == {"number": 2}
    looks.forget_answers()
    assert await looks.share_handlers({protocol.STATUS: status})[protocol.STATUS](None) == {
        "number": 3
    }


async def test_what_changes_something_is_never_shared() -> None:
    """Each call is made."""
    done: list[JsonValue] = []

    async def pause(params: JsonValue) -> Params:
        done.append(params)
        return None

    handler = SharedStatus(lambda: 0.0).share_handlers({protocol.AGENT_PAUSE: pause})[
        protocol.AGENT_PAUSE
    ]
    await handler("a")
    await handler("b")
    assert done == ["a", "b"]
