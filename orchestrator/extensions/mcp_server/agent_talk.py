"""Talk to agents: send a message once, wait for its answer, or withdraw it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import anyio
from pydantic import BaseModel, ConfigDict, Field

from orchestrator import chat_texts
from orchestrator.channel_api import InboundMessage, Intake
from orchestrator.channels.stored_replies import POLL, EndedMessage
from orchestrator.chat_activity import ActivityEvent, AnswerGrew, CallFinished, CallStarted
from orchestrator.control.console import MAX_TEXT
from orchestrator.control.operations import DaemonOperations
from orchestrator.control.roles import Right
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.mcp_server.mcp_caller import CallProgress, McpAnswer, McpToolCall
from orchestrator.extensions.mcp_server.mcp_channel import McpChannel
from orchestrator.extensions.mcp_server.withdrawal import WITHDRAW, Act
from orchestrator.journal.inspect.chat_lines import ChatLine
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.outbound.delivery import Delivery
from thinker.protocol.messages import JsonObject

NAME = r"^[A-Za-z0-9_.@-]{1,64}$"
WAIT_SECONDS = 50  # many clients give a call up after a minute
LONG_WAIT_SECONDS = 600  # for clients that get progress, which keeps them waiting
MAX_WAIT_SECONDS = 3600
AT_WORK = "the agent is at work"
NOT_YET = "There is no answer yet. Call wait_for_answer with message_id {id!r} to wait for it."
STOPPING = "The daemon is stopping; the message is kept. " + NOT_YET
ASKS = (
    "The agent waits for your decision:\n\n{text}\n\nCall answer_approval with code {code!r}, then"
    " wait_for_answer with message_id {id!r}."
)
OTHER = "the message_id {id!r} was used for another message; choose another one"


class AgentMessage(BaseModel):
    """A message for an agent."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(max_length=MAX_TEXT, description="What to say to the agent.")
    chat: str | None = Field(
        None,
        pattern=NAME,
        description="Name of the conversation to go on with, as an earlier answer returned it, or"
        " a new name. Without it a new conversation begins.",
    )
    message_id: str | None = Field(
        None,
        pattern=NAME,
        description="An id of your choice. The same call with the same id sends nothing again and"
        " gets the same answer.",
    )
    wait_seconds: int | None = Field(
        None, ge=0, le=MAX_WAIT_SECONDS, description="How long to wait for the answer."
    )


class NamedAgentMessage(AgentMessage):
    """A message for an agent that it names."""

    agent: str = Field(max_length=64, description="Id of the agent, as find_agents returns it.")


class Wait(BaseModel):
    """A message to wait for."""

    model_config = ConfigDict(extra="forbid")

    message_id: str = Field(pattern=NAME, description="Id of the message, as it was returned.")
    wait_seconds: int | None = Field(
        None, ge=0, le=MAX_WAIT_SECONDS, description="How long to wait for the answer."
    )


@dataclass(frozen=True)
class AgentTalk:
    """Sends messages to agents through ``intake``; ``delivery`` reports what happens in chats.

    ``act`` calls a control method for someone, at the node of the agent that it concerns.
    """

    daemon: DaemonOperations
    channel: McpChannel
    intake: Intake
    delivery: Delivery
    act: Act

    async def ask_agent(self, agent_id: str, call: McpToolCall) -> McpAnswer:
        """Send a message to an agent, once even if repeated, and wait.

        Raises:
            OrchestratorError: the message was not sent.
        """
        return await self._send(agent_id, AgentMessage.model_validate(call.arguments), call)

    async def ask_named_agent(self, call: McpToolCall) -> McpAnswer:
        """Send a message to the agent that it names, as `ask_agent` does.

        Raises:
            OrchestratorError: there is no such agent, or the message was not sent.
        """
        asked = NamedAgentMessage.model_validate(call.arguments)
        if asked.agent not in self.daemon.configuration.file.list_enabled_ids():
            raise OrchestratorError(f"unknown agent {asked.agent!r}; call find_agents")
        return await self._send(asked.agent, asked, call)

    async def _send(self, agent_id: str, asked: AgentMessage, call: McpToolCall) -> McpAnswer:
        if not asked.message.strip():
            raise OrchestratorError("message is empty; write what to say to the agent")
        message_id = asked.message_id or call.build_key()
        chat = asked.chat or f"c-{sha256(message_id.encode()).hexdigest()[:12]}"
        message = self.channel.build_message(call.caller.owner, chat, message_id, asked.message)
        message = replace(message, target=agent_id)
        call.asked = message.message_id
        stored = await self.channel.find_stored_message(message.message_id)
        if stored is None:
            await self.intake.accept([message])
        elif not _is_same_message(stored, message):
            raise OrchestratorError(OTHER.format(id=message_id))
        return await self._wait_for_end(message_id, asked.wait_seconds, call)

    async def wait_for_answer(self, call: McpToolCall) -> McpAnswer:
        """Wait for the answer to an earlier message.

        Raises:
            OrchestratorError: this caller sent no such message.
        """
        wanted = Wait.model_validate(call.arguments)
        return await self._wait_for_end(wanted.message_id, wanted.wait_seconds, call)

    async def withdraw_message(self, message_id: str, by: str) -> None:
        """Cancel a message, and the turn that answers it, at the node of its agent.

        Raises:
            OrchestratorError: that node cannot be reached.
        """
        stored = await self.channel.find_stored_message(message_id)
        if stored is not None:
            concerned = {"turnId": stored.turn_id} if stored.turn_id else {"agentId": stored.target}
            await self.act(by, WITHDRAW, {**concerned, "messageId": message_id})

    async def _wait_for_end(
        self, message_id: str, seconds: int | None, call: McpToolCall
    ) -> McpAnswer:
        caller, progress = call.caller, call.progress
        if seconds is None:
            seconds = LONG_WAIT_SECONDS if progress.wanted else WAIT_SECONDS
        full_id = f"{caller.owner}/{message_id}"
        stored = await self.channel.find_stored_message(full_id)
        if stored is None:
            raise OrchestratorError(f"unknown message {message_id!r}; ask an agent first")
        call.asked = full_id
        replies, end = self.channel.watch_replies(stored.chat_id), anyio.current_time() + seconds
        with self.delivery.activity.watch_chat(stored.chat_key, _make_reporter(progress)):
            while True:
                changed = replies.changed
                found, questions = await self.channel.load_message_state(
                    full_id, self.daemon.clock()
                )
                if not isinstance(found, InboxRow):
                    return _build_end_answer(found, stored, message_id)
                if questions and caller.has_right(Right.DECIDE):
                    return _build_approval_answer(questions, stored, message_id)
                left = end - anyio.current_time()
                if left <= 0 or caller.closing():
                    text = STOPPING if caller.closing() else NOT_YET
                    return _build_answer(text.format(id=message_id), "pending", stored, message_id)
                progress.report_still_working(
                    "waits for an operator's approval" if questions else AT_WORK
                )
                with anyio.move_on_after(min(left, POLL)):
                    await changed.wait()


def _is_same_message(stored: InboxRow, message: InboundMessage) -> bool:
    then = stored.chat_id, stored.target, stored.text
    return then == (message.chat_id, message.target, message.text)


def _make_reporter(progress: CallProgress) -> Callable[[ActivityEvent], None]:
    def report_happening(happening: ActivityEvent) -> None:
        match happening:
            case AnswerGrew(text=text) if text:
                progress.report_news(f"writes the answer: {len(text)} characters")
            case CallStarted(agent_id=agent_id, tool=tool):
                progress.report_news(f"{agent_id} calls {tool}")
            case CallFinished(call=made):
                progress.report_news(f"{made.agent_id} called {made.tool}")

    return report_happening


def _build_end_answer(found: EndedMessage | None, stored: InboxRow, message_id: str) -> McpAnswer:
    if found is None:  # erased meanwhile
        raise OrchestratorError(f"the message {message_id!r} was deleted")
    row, text = found.row, "\n\n".join(found.texts)
    if row.state == "done":
        return _build_answer(text, "answered", stored, message_id)
    return _build_answer(row.error or text or row.state, "failed", stored, message_id)


def _build_approval_answer(
    questions: Sequence[ChatLine], stored: InboxRow, message_id: str
) -> McpAnswer:
    first = questions[0]
    code = first.code or ""
    text = chat_texts.cut_answers(first.body)
    told = ASKS.format(text=text, code=code, id=message_id)
    return _build_answer(told, "needs_approval", stored, message_id, {"code": code})


def _build_answer(
    text: str, state: str, stored: InboxRow, message_id: str, more: JsonObject | None = None
) -> McpAnswer:
    chat = stored.chat_id.partition("/")[2]
    data: JsonObject = {"state": state, "text": text, "chat": chat, "message_id": message_id}
    return McpAnswer((text, f"chat: {chat}"), data | (more or {}), failed=state == "failed")
