"""Saying one thing to an agent and waiting for the reply, also across a restart of the daemon."""

from collections.abc import Callable

import anyio
from pydantic import JsonValue

from orchestrator.cli._client import ANSWER_SECONDS, connection
from orchestrator.control.protocol import (
    CHAT_SEND,
    CHAT_VIEW,
    CHAT_WAIT,
    Ack,
    ChatOutcome,
    ChatSend,
    ChatView,
    ChatWait,
)
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.settings import Settings

PENDING, ANSWERED = "pending", "done"  # states of a message, `ChatOutcome.state`
WAIT_SECONDS = 20.0  # of one wait request
REDIAL_SECONDS = 0.2  # between two tries to reach a daemon that is being restarted


async def converse(
    settings: Settings, say: ChatSend, seconds: float, on_view: Callable[[str], None]
) -> ChatOutcome:
    """What became of a message. When the daemon goes away meanwhile, it is called again.

    The message is then sent again under its id, by which the daemon knows it. ``on_view`` gets
    the answer so far.

    Raises:
        NotRunningError: no daemon runs.
        OrchestratorError: the message was refused, or not answered in time.
    """
    accepted = False

    def show(params: JsonValue) -> None:
        view = ChatView.model_validate(params)
        if view.chat == say.chat:
            on_view(view.text)

    with anyio.move_on_after(seconds):
        while True:
            try:
                async with connection(settings, {CHAT_VIEW: show}) as peer:
                    await peer.call(CHAT_SEND, say, Ack, timeout=ANSWER_SECONDS)
                    accepted = True
                    wait = ChatWait(message=say.message, seconds=WAIT_SECONDS, views=True)
                    while True:
                        outcome = await peer.call(
                            CHAT_WAIT, wait, ChatOutcome, timeout=WAIT_SECONDS + ANSWER_SECONDS
                        )
                        if outcome.state != PENDING:
                            return outcome
            except NotRunningError:
                if not accepted:
                    raise
                await anyio.sleep(REDIAL_SECONDS)
    raise OrchestratorError(
        f"no reply within {seconds:g} s; "
        + ("the message is kept and still answered in its chat" if accepted else "nothing was sent")
    )
