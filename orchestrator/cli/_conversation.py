"""Send one message to an agent and wait for the reply, also across a restart of the daemon."""

from collections.abc import Callable, Mapping

import anyio
import typer
from pydantic import JsonValue

from orchestrator.cli._client import ANSWER_SECONDS, connection
from orchestrator.cli._output import printable
from orchestrator.control.protocol import (
    CHAT_EVENT,
    CHAT_SEND,
    CHAT_WAIT,
    CHAT_WATCH,
    Ack,
    ChatEntry,
    ChatEvent,
    ChatOutcome,
    ChatScene,
    ChatSend,
    ChatWait,
    ChatWatch,
)
from orchestrator.errors import NotRunningError, OrchestratorError, UnknownAgentError
from orchestrator.settings import Settings
from thinker.protocol.peer import NotificationHandler, Peer

PENDING, ANSWERED = "pending", "done"  # values of `ChatOutcome.state`
FENCE = "```"  # around the facts of a question, which is Markdown
WAIT_SECONDS = 20.0  # length of one wait request
RECONNECT_SECONDS = 0.2  # pause between attempts to reach a restarting daemon


async def converse(
    settings: Settings,
    message: ChatSend,
    seconds: float,
    on_question: Callable[[ChatEntry], None],
    on_earlier: Callable[[ChatEntry], None] = lambda _: None,
) -> ChatOutcome:
    """Send a message and return its outcome, waiting up to ``seconds``.

    If the daemon goes away meanwhile, the message is sent again; its id keeps the daemon from
    storing it twice. ``on_question`` receives each call that waits for approval in the chat, but
    ``on_earlier`` those that waited already; the message waits behind them.

    Raises:
        NotRunningError: no daemon runs.
        UnknownAgentError: there is no such agent; nothing was sent.
        OrchestratorError: the message was refused, or not answered in time.
    """
    accepted, asked = False, set[str]()

    def ask(question: ChatEntry, tell: Callable[[ChatEntry], None] = on_question) -> None:
        if question.asks and question.asks not in asked:
            asked.add(question.asks)
            tell(question)

    def see(event: ChatEvent) -> None:
        if event.message is not None:
            ask(event.message)

    with anyio.move_on_after(seconds):
        while True:
            try:
                async with connection(settings, events(message.chat, see)) as peer:
                    watch = ChatWatch(chat=message.chat, agent=message.agent)
                    scene = await peer.call(CHAT_WATCH, watch, ChatScene, timeout=ANSWER_SECONDS)
                    if message.agent is not None:
                        check_agent(scene, message.agent)
                    tell = on_question if accepted else on_earlier
                    accepted = await deliver(peer, message) or accepted
                    for question in scene.questions:
                        ask(question, tell)
                    return await outcome(peer, message)
            except NotRunningError:
                if not accepted:
                    raise
                await anyio.sleep(RECONNECT_SECONDS)
    raise OrchestratorError(
        f"no reply within {seconds:g} s; "
        + ("the message is stored and its reply will be" if accepted else "nothing was sent")
    )


def events(chat: str, see: Callable[[ChatEvent], None]) -> Mapping[str, NotificationHandler]:
    """Return what lets a connection receive the events of a chat that it watches."""

    def receive(params: JsonValue) -> None:
        event = ChatEvent.model_validate(params)
        if event.chat == chat:
            see(event)

    return {CHAT_EVENT: receive}


def check_agent(scene: ChatScene, agent: str | None) -> None:
    """See that an agent answers a chat.

    Raises:
        UnknownAgentError: there is no such agent, or none is bound; the message names those that
            there are.
    """
    if scene.agent_id is not None:
        return
    names = ", ".join(scene.agents) or "no agent"
    if agent is None:
        raise UnknownAgentError(f"no binding leads here; name an agent: {names}")
    raise UnknownAgentError(f"there is no agent {agent!r}; agents.json has: {names}")


async def deliver(peer: Peer, message: ChatSend) -> bool:
    """Have the daemon store a message; a repeated one is stored once. Return true."""
    await peer.call(CHAT_SEND, message, Ack, timeout=ANSWER_SECONDS)
    return True


async def outcome(peer: Peer, message: ChatSend) -> ChatOutcome:
    """Wait for the end of a message."""
    wait = ChatWait(message=message.message, seconds=WAIT_SECONDS)
    while True:
        seconds = WAIT_SECONDS + ANSWER_SECONDS
        found = await peer.call(CHAT_WAIT, wait, ChatOutcome, timeout=seconds)
        if found.state != PENDING:
            return found


def tell_question(question: ChatEntry) -> None:
    """Say on stderr that a call waits for approval, and what to type elsewhere."""
    code = question.asks
    text = "\n".join(line for line in question.text.split("\n") if line != FENCE)
    typer.echo(
        f"{printable(text)}\nin another shell: orchestrator approvals grant {code}"
        f" (or deny {code})",
        err=True,
    )


def tell_earlier(question: ChatEntry) -> None:
    """Say on stderr that an earlier message's call waits for approval, and so the new message."""
    typer.echo(
        f"an earlier message of this chat waits for approval {question.asks}; yours is queued"
        " behind it:",
        err=True,
    )
    tell_question(question)
