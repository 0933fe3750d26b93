"""Who calls, and what makes two calls the same."""

from itertools import count

import anyio.lowlevel

from orchestrator.control.roles import Right
from orchestrator.extensions.mcp_server.mcp_caller import CallProgress, McpCaller, McpToolCall
from thinker.protocol.messages import JsonObject


def key(caller: McpCaller, call_id: int = 1, text: str = "hi") -> str:
    """The key of a call; what is not known has the key ``fresh``."""
    progress = CallProgress(lambda _: None, None)
    return McpToolCall(
        caller, call_id, "ask_a", {"message": text}, progress, lambda: "fresh"
    ).build_key()


async def test_call_is_known_by_its_session_or_its_clients_key() -> None:
    """A client that counts its requests anew, and says something else, repeats nothing."""
    first, other = McpCaller("chat", "s1"), McpCaller("chat", "s2")
    assert key(first) == key(first)
    assert len({key(first), key(first, 2), key(first, text="ho"), key(other)}) == 4
    assert key(McpCaller("operator", "s1")) != key(first)
    assert key(McpCaller("chat", "s1", "k"), 1) == key(McpCaller("chat", "", "k"), 2)
    assert key(McpCaller("chat")) == "fresh"


def test_role_says_what_a_caller_may() -> None:
    """Chats of the operator and of other clients have names of their own."""
    client, operator = McpCaller("chat"), McpCaller("operator")
    assert (client.own_chats, operator.own_chats) == ("mcp/local/client/", "mcp/local/operator/")
    assert [right for right in Right if client.has_right(right)] == [Right.CHAT]
    assert all(map(operator.has_right, Right))


async def test_progress_grows_and_is_not_told_too_often() -> None:
    """The first news goes out at once, the next ones are dropped; without a token all are."""
    sent: list[JsonObject] = []
    progress, numbers = CallProgress(sent.append, "t"), count()
    for _ in range(3):
        progress.report_news(f"news {next(numbers)}")
        await anyio.lowlevel.checkpoint()
    params = {"progressToken": "t", "progress": 1, "message": "news 0"}
    assert [message["params"] for message in sent] == [params]
    CallProgress(sent.append, None).report_news("unwanted")
    assert len(sent) == 1
