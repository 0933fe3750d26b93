"""The connection of a conversation to the daemon, which is made again when it is lost."""

from collections.abc import Callable
from typing import TypeVar
from uuid import uuid4

import anyio
from anyio.abc import TaskStatus
from pydantic import BaseModel

from orchestrator.cli._client import ANSWER_SECONDS, connection
from orchestrator.cli._conversation import (
    PENDING,
    RECONNECT_SECONDS,
    WAIT_SECONDS,
    check_agent,
    events,
)
from orchestrator.control.protocol import (
    APPROVAL_DECIDE,
    CHAT_SEND,
    CHAT_WAIT,
    CHAT_WATCH,
    Ack,
    ApprovalDecision,
    ChatEvent,
    ChatOutcome,
    ChatScene,
    ChatSend,
    ChatWait,
    ChatWatch,
)
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.settings import Settings
from thinker.protocol.peer import Peer, PeerClosedError, RpcError

EARLIER = 3  # exchanges that a user who comes back sees
R = TypeVar("R", bound=BaseModel)


class ChatLink:
    """Watches a chat and sends to it, through any number of daemons on the home.

    ``see`` gets each event once. ``changed`` gets None when the daemon goes away, and the chat as
    it is when it is back.
    """

    def __init__(
        self,
        settings: Settings,
        chat: str,
        agent: str | None,
        see: Callable[[ChatEvent], None],
        changed: Callable[[ChatScene | None], None],
    ) -> None:
        self._settings = settings
        self._chat = chat
        self._agent = agent
        self._see = see
        self._changed = changed
        self._position: int | None = None  # of the newest message that was seen
        self._peer: Peer | None = None
        self._linked = anyio.Event()

    async def run(self, *, task_status: TaskStatus[ChatScene]) -> None:
        """Stay connected until cancelled; report the chat when it is first reached.

        Raises:
            NotRunningError: no daemon runs at the start.
            UnknownAgentError: no such agent answers.
        """
        begun = False
        while True:
            try:
                async with connection(self._settings, events(self._chat, self._receive)) as peer:
                    scene = await self._join(peer, 0 if begun else EARLIER)
                    self._peer = peer
                    if begun:
                        self._changed(scene)
                    else:
                        check_agent(scene, self._agent)
                        task_status.started(scene)
                    begun = True
                    self._linked.set()
                    await peer.closed.wait()
            except NotRunningError:
                if not begun:
                    raise
            if self._peer is not None:
                self._peer, self._linked = None, anyio.Event()
                self._changed(None)
            await anyio.sleep(RECONNECT_SECONDS)

    async def send(self, message: ChatSend) -> ChatOutcome:
        """Send a message once and wait for its end.

        Raises:
            OrchestratorError: the daemon refused it, or does not answer.
        """
        await self._call(CHAT_SEND, message, Ack)
        wait = ChatWait(message=message.message, seconds=WAIT_SECONDS)
        while True:
            outcome = await self._call(CHAT_WAIT, wait, ChatOutcome)
            if outcome.state != PENDING:
                return outcome

    async def decide(self, code: str, *, granted: bool) -> None:
        """Answer a question.

        Raises:
            OrchestratorError: it is no longer open.
        """
        await self._call(APPROVAL_DECIDE, ApprovalDecision(code=code, granted=granted), Ack)

    def message(self, text: str) -> ChatSend:
        """Return a new message of the chat."""
        return ChatSend(chat=self._chat, message=str(uuid4()), text=text, agent=self._agent)

    async def _join(self, peer: Peer, recent: int) -> ChatScene:
        watch = ChatWatch(chat=self._chat, agent=self._agent, after=self._position, recent=recent)
        scene = await peer.call(CHAT_WATCH, watch, ChatScene, timeout=ANSWER_SECONDS)
        self._position = scene.position
        return scene

    def _receive(self, event: ChatEvent) -> None:
        if event.message is not None:
            self._position = event.message.position
        self._see(event)

    async def _call(self, method: str, params: BaseModel, result: type[R]) -> R:
        """Ask the daemon, and the next one if it goes away before it has answered."""
        while True:
            await self._linked.wait()
            try:
                if self._peer is not None:
                    seconds = WAIT_SECONDS + ANSWER_SECONDS
                    return await self._peer.call(method, params, result, timeout=seconds)
            except PeerClosedError:
                await anyio.sleep(RECONNECT_SECONDS)
            except (RpcError, TimeoutError) as error:
                problem = "the daemon does not answer; look at its log"
                raise OrchestratorError(str(error) or problem) from error
