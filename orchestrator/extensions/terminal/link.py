"""The conversation's connection to the daemon, restored when it is lost."""

from collections.abc import Callable
from typing import TypeVar
from uuid import uuid4

import anyio
from anyio.abc import TaskStatus
from pydantic import BaseModel

from orchestrator.cli.client import connect_to_daemon
from orchestrator.cli.conversation import (
    PENDING,
    RECONNECT_SECONDS,
    WAIT_SECONDS,
    make_event_handlers,
    require_answering_agent,
)
from orchestrator.control.daemon_answer import ANSWER_SECONDS
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

EARLIER = 3  # exchanges shown to a returning user
R = TypeVar("R", bound=BaseModel)


class ChatLink:
    """Watches a chat and sends to it, through any number of daemons on the home.

    ``see`` gets each event once. ``changed`` gets None when the daemon goes away, and the chat's
    current scene when it is back.
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
            UnknownAgentError: the agent does not exist, or none answers.
        """
        begun = False
        while True:
            try:
                async with connect_to_daemon(
                    self._settings, make_event_handlers(self._chat, self._on_event)
                ) as peer:
                    scene = await self._join_chat(peer, 0 if begun else EARLIER)
                    self._peer = peer
                    if begun:
                        self._changed(scene)
                    else:
                        require_answering_agent(scene, self._agent)
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
        """Send a message once, and return its outcome.

        Raises:
            OrchestratorError: the daemon refused the message, or does not answer.
        """
        await self._call_daemon(CHAT_SEND, message, Ack)
        wait = ChatWait(message=message.message, seconds=WAIT_SECONDS)
        while True:
            outcome = await self._call_daemon(CHAT_WAIT, wait, ChatOutcome)
            if outcome.state != PENDING:
                return outcome

    async def decide_question(self, code: str, *, granted: bool) -> None:
        """Answer a question.

        Raises:
            OrchestratorError: the question is no longer open.
        """
        await self._call_daemon(APPROVAL_DECIDE, ApprovalDecision(code=code, granted=granted), Ack)

    def make_message(self, text: str) -> ChatSend:
        """Return a new message of the chat."""
        return ChatSend(chat=self._chat, message=str(uuid4()), text=text, agent=self._agent)

    async def _join_chat(self, peer: Peer, recent: int) -> ChatScene:
        watch = ChatWatch(chat=self._chat, agent=self._agent, after=self._position, recent=recent)
        scene = await peer.call(CHAT_WATCH, watch, ChatScene, timeout=ANSWER_SECONDS)
        self._position = scene.position
        return scene

    def _on_event(self, event: ChatEvent) -> None:
        if event.message is not None:
            self._position = event.message.position
        self._see(event)

    async def _call_daemon(self, method: str, params: BaseModel, result: type[R]) -> R:
        """Call the daemon, or the next one if this one goes away before answering."""
        while True:
            await self._linked.wait()
            try:
                if self._peer is not None:
                    seconds = WAIT_SECONDS + ANSWER_SECONDS
                    return await self._peer.call(method, params, result, timeout=seconds)
            except PeerClosedError:
                await anyio.sleep(RECONNECT_SECONDS)
            except (RpcError, TimeoutError) as error:
                problem = "the daemon does not answer; see: orchestrator logs"
                raise OrchestratorError(str(error) or problem) from error
