"""Ask the operator to approve a call; each question is asked and used once.

A call needs approval if the agent's ``approvals`` match its tool, if the same call was made in this
chat within a day and its outcome is unknown, since models tend to repeat such calls, or because of
what its turn has read (`orchestrator.toolcalls.provenance`). No tool can grant approval: only the
operator can.

Where: is an operator asked to approve a call?
"""

import secrets
from collections.abc import Callable, Mapping
from typing import NamedTuple

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.installed import find_installed
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import approvals, outbox, questions, steps
from orchestrator.journal.turns.approvals import Approval
from orchestrator.journal.turns.outbox import HOOKS, Address
from orchestrator.journal.turns.steps import Call
from orchestrator.toolcalls import provenance, question_text
from orchestrator.toolcalls.provenance import Objection
from orchestrator.tools import policy
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.remote_tools import RemoteTool
from orchestrator.wakeup import Wakeup
from thinker.protocol.messages import SideEffect, ToolResult

REPEATS = 10  # of a question whose delivery is uncertain; six minutes, since each waits longer


class ApprovalQueue(Wakeup):
    """The open questions to the operator; it wakes its waiters after each decision."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int],
        new_code: Callable[[], str] = lambda: secrets.token_hex(4),
    ) -> None:
        super().__init__()
        self._store = store
        self._clock = clock
        self.new_code = new_code

    async def wait_for_answer(self, question: Approval) -> None:
        """Wait until the question is answered, has expired, or the daemon stops."""

        async def is_closed() -> bool:
            return question.id not in {item.id for item in await self.list_open_questions()}

        await self.wait_until(is_closed, (question.expires - self._clock()) / 1000)

    async def list_open_questions(self) -> list[Approval]:
        """Return the open questions, oldest first."""
        return await self._store.transact(approvals.list_pending_approvals, self._clock())

    async def decide_question(
        self, code: str, by: str, *, granted: bool, seen: str | None = None, note: str = ""
    ) -> Approval | None:
        """Answer the question with this code; return None if it is not open.

        ``seen`` is the hash of the arguments that the operator saw; None accepts any. ``note`` is
        the reason given.
        """
        now = self._clock()

        def decide_question(db: Database) -> Approval | None:
            return questions.decide_question(
                db, code, by, now, granted=granted, seen=seen, note=note
            )

        found = await self._store.transact(decide_question)
        self.wake()
        return found


class AskedChats(NamedTuple):
    """The chat of a call, and how to find the one whose people may decide about it."""

    origin: Address
    find: Callable[[Database, Address], Address | None] = lambda _, origin: origin

    def ask(self, db: Database, question: Approval, text: str, now: int) -> None:
        """Send a question where it can be answered, and tell the call's chat if that is another."""
        asked = self.find(db, self.origin)
        if asked is not None:
            # An operator must see the question; a code counts once, however often it is shown.
            questions.ask_question(db, question, asked, text, REPEATS, now)
        if asked != self.origin and self.origin.channel != HOOKS:
            told = chat_texts.ASKED_NOBODY if asked is None else chat_texts.ASKED_ELSEWHERE
            outbox.add_notice(db, self.origin, told, now)


def check_approval(
    db: Database,
    call: Call,
    tool: HostTool | RemoteTool,
    definition: AgentDefinition,
    chats: AskedChats,
    code: str,
    now: int,
    fixed: Mapping[str, object],
) -> str | ToolResult | Approval | None:
    """Return None if the call may run, inside T4, which uses up its approval.

    Otherwise return the open question, which is sent once, the reason for a refusal, or the result
    that an extension has for the call, which ends with it.
    ``code`` is for a question that has not been asked before, ``fixed`` are the arguments that the
    prompt's definition sets.
    """
    found = _find_objection(db, call, tool, definition, now)
    if isinstance(found, ToolResult):
        return steps.finish(db, call, found, now)
    if found is None or approvals.use_approval(db, call, now):
        return None
    if approvals.is_used(db, call):
        return None  # repeatable, and planned again because a process died during the call
    question, fresh = approvals.request_approval(db, call, found.reason, code, now)
    if not question.is_open(now):
        questions.show_outcome(db, question, now)
        return f"not approved: {question.note or 'denied or expired'} ({found.reason})"
    if fresh:
        written = steps.find_written_call(db, call)
        text = question_text.format_question(question, chats.origin, tool, written, fixed)
        chats.ask(db, question, text, now)
    return question


def _find_objection(
    db: Database, call: Call, tool: HostTool | RemoteTool, definition: AgentDefinition, now: int
) -> Objection | ToolResult | None:
    for extension in find_installed().own.values():
        judged: str | ToolResult | None = extension.judge_call(db, call)
        if isinstance(judged, ToolResult):
            return judged
        if judged is not None:
            return Objection(judged)
    if policy.needs_approval(call.name, definition.approvals):
        return Objection("the configuration requires approval for this tool", may_stand=True)
    repeatable = call.side_effect is not SideEffect.NON_IDEMPOTENT
    if not repeatable and approvals.repeats_unknown_call(db, call, now):
        return Objection("the same call was made recently and its outcome is unknown")
    return None if definition.provenance == "off" else provenance.find_objection(db, call, tool)
