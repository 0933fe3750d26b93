"""Send one message to an agent and wait for the reply, also across a restart of the daemon."""

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

PENDING, ANSWERED = "pending", "done"  # values of `ChatOutcome.state`
WAIT_SECONDS = 20.0  # length of one wait request
RECONNECT_SECONDS = 0.2  # pause between attempts to reach a restarting daemon


async def converse(
    settings: Settings, message: ChatSend, seconds: float, on_view: Callable[[str], None]
) -> ChatOutcome:
    """Send a message and return its outcome, waiting up to ``seconds``.

    If the daemon goes away meanwhile, the message is sent again; its id keeps the daemon from
    storing it twice. ``on_view`` receives the answer so far, each time it grows.

    Raises:
        NotRunningError: no daemon runs.
        OrchestratorError: the message was refused, or not answered in time.
    """
    accepted = False

    def show(params: JsonValue) -> None:
        view = ChatView.model_validate(params)
        if view.chat == message.chat:
            on_view(view.text)

    with anyio.move_on_after(seconds):
        while True:
            try:
                async with connection(settings, {CHAT_VIEW: show}) as peer:
                    await peer.call(CHAT_SEND, message, Ack, timeout=ANSWER_SECONDS)
                    accepted = True
                    wait = ChatWait(message=message.message, seconds=WAIT_SECONDS, views=True)
                    while True:
                        outcome = await peer.call(
                            CHAT_WAIT, wait, ChatOutcome, timeout=WAIT_SECONDS + ANSWER_SECONDS
                        )
                        if outcome.state != PENDING:
                            return outcome
            except NotRunningError:
                if not accepted:
                    raise
                await anyio.sleep(RECONNECT_SECONDS)
    raise OrchestratorError(
        f"no reply within {seconds:g} s; "
        + ("the message is stored and its reply will be" if accepted else "nothing was sent")
    )
