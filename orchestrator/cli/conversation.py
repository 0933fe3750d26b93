"""Send a message to an agent and wait for the reply, even across a restart of the daemon."""

from collections.abc import Callable, Mapping

import anyio
import typer
from pydantic import JsonValue

from orchestrator.cli.client import connect_to_daemon
from orchestrator.cli.output import make_printable
from orchestrator.control.daemon_answer import ANSWER_SECONDS
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
from orchestrator.errors import NotRunningError, OrchestratorError, UnknownAgentError, join_names
from orchestrator.settings import Settings
from thinker.protocol.peer import NotificationHandler, Peer

PENDING, ANSWERED = "pending", "done"  # values of `ChatOutcome.state`
FENCE = "```"  # around the facts of a question, which is Markdown
WAIT_SECONDS = 20.0  # length of one wait request
RECONNECT_SECONDS = 0.2  # pause between attempts to reach a restarting daemon


async def send_and_wait(
    settings: Settings,
    message: ChatSend,
    seconds: float,
    on_question: Callable[[ChatEntry], None],
    on_earlier: Callable[[ChatEntry], None] = lambda _: None,
) -> ChatOutcome:
    """Send a message and return its outcome, waiting up to ``seconds``.

    If the daemon stops meanwhile, the message is sent again; its id keeps the daemon from storing
    it twice. ``on_question`` is called with each call that waits for approval in the chat,
    but ``on_earlier`` with those that waited already; the message waits behind them.

    Raises:
        NotRunningError: no daemon runs.
        UnknownAgentError: there is no such agent; nothing was sent.
        OrchestratorError: the message was refused, or not answered in time.
    """
    accepted, asked = False, set[str]()

    def ask_once(question: ChatEntry, tell: Callable[[ChatEntry], None] = on_question) -> None:
        if question.asks and question.asks not in asked:
            asked.add(question.asks)
            tell(question)

    def on_event(event: ChatEvent) -> None:
        if event.message is not None:
            ask_once(event.message)

    with anyio.move_on_after(seconds):
        while True:
            try:
                async with connect_to_daemon(
                    settings, make_event_handlers(message.chat, on_event)
                ) as peer:
                    watch = ChatWatch(chat=message.chat, agent=message.agent)
                    scene = await peer.call(CHAT_WATCH, watch, ChatScene, timeout=ANSWER_SECONDS)
                    if message.agent is not None:
                        require_answering_agent(scene, message.agent)
                    tell = on_question if accepted else on_earlier
                    accepted = await deliver_message(peer, message) or accepted
                    for question in scene.questions:
                        ask_once(question, tell)
                    return await wait_for_outcome(peer, message)
            except NotRunningError:
                if not accepted:
                    raise
                await anyio.sleep(RECONNECT_SECONDS)
    raise OrchestratorError(
        f"no reply within {seconds:g} s; "
        + ("the message is stored and its reply will be" if accepted else "nothing was sent")
    )


def make_event_handlers(
    chat: str, see: Callable[[ChatEvent], None]
) -> Mapping[str, NotificationHandler]:
    """Make the handlers with which a connection receives events of a watched chat."""

    def on_chat_event(params: JsonValue) -> None:
        event = ChatEvent.model_validate(params)
        if event.chat == chat:
            see(event)

    return {CHAT_EVENT: on_chat_event}


def require_answering_agent(scene: ChatScene, agent: str | None) -> None:
    """Require that an agent answers a chat.

    Raises:
        UnknownAgentError: there is no such agent, or none is bound; the message names some.
    """
    if scene.agent_id is not None:
        return
    names = join_names(scene.agents, scene.agents_left_out) or "no agent"
    if agent is None:
        raise UnknownAgentError(f"no binding leads here; name an agent: {names}")
    raise UnknownAgentError(f"unknown agent {agent!r}; agents.json has: {names}")


async def deliver_message(peer: Peer, message: ChatSend) -> bool:
    """Have the daemon store a message, once even if repeated; return True."""
    await peer.call(CHAT_SEND, message, Ack, timeout=ANSWER_SECONDS)
    return True


async def wait_for_outcome(peer: Peer, message: ChatSend) -> ChatOutcome:
    """Wait for the end of a message."""
    wait = ChatWait(message=message.message, seconds=WAIT_SECONDS)
    while True:
        seconds = WAIT_SECONDS + ANSWER_SECONDS
        found = await peer.call(CHAT_WAIT, wait, ChatOutcome, timeout=seconds)
        if found.state != PENDING:
            return found


def tell_question(question: ChatEntry) -> None:
    """Print to stderr that a call waits for approval, and what to type elsewhere."""
    code = question.asks
    text = "\n".join(line for line in question.text.split("\n") if line != FENCE)
    typer.echo(
        f"{make_printable(text)}\nin another shell: orchestrator approvals grant {code}"
        f" (or deny {code})",
        err=True,
    )


def tell_earlier_question(question: ChatEntry) -> None:
    """Print to stderr that the new message waits behind a call that waits for approval."""
    typer.echo(
        f"an earlier message of this chat waits for approval {question.asks}; yours is queued"
        " behind it:",
        err=True,
    )
    tell_question(question)
