"""Ask the operator to approve a call; each question is asked and used once.

A call needs approval if the agent's ``approvals`` match its tool, if the same call was made in this
chat within a day and its outcome is unknown, since models tend to repeat such calls, or because of
what its turn has read (`orchestrator.toolcalls.provenance`). No tool can grant approval: only the
operator can.

The first call of a step that needs an approval asks for the others of its step as well: one
question covers exactly the calls that are planned together and need one.

Where: is an operator asked to approve a call?
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from orchestrator import chat_texts
from orchestrator.agentsfile import AgentDefinition
from orchestrator.installed import find_installed
from orchestrator.journal.db.database import Database, roll_back_on_failure
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import approvals, outbox, questions, steps
from orchestrator.journal.turns.approvals import Approval, QuestionDetails
from orchestrator.journal.turns.outbox import HOOKS, Address
from orchestrator.journal.turns.steps import Call
from orchestrator.toolcalls import provenance, question_text
from orchestrator.toolcalls.provenance import Objection
from orchestrator.toolcalls.question_text import AskedCall, QuestionScene
from orchestrator.tools import policy
from orchestrator.tools.builtin.host_tool import HostTool
from orchestrator.tools.remote_tools import RemoteTool
from orchestrator.wakeup import Wakeup
from thinker.protocol.messages import SideEffect, ToolResult

REPEATS = 10  # of a question whose delivery is uncertain; six minutes, since each waits longer

MAX_GATHERED = 19  # other calls of a step that one question may cover
FREE = "free"  # of a later call that needs no approval
CONFIGURED = "the configuration requires approval for this tool"


class _PreviewEndsError(Exception):
    """Undoes what looking at a later call has written."""


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

        Raises:
            OrchestratorError: its agent is held, see `questions.decide_question`.
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

    def ask(self, db: Database, asked: Sequence[AskedCall], free: Sequence[str], now: int) -> None:
        """Send a question where it can be answered, and tell the calls' chat if that is another.

        ``free`` as in `QuestionScene`.
        """
        place = self.find(db, self.origin)
        if place is not None:
            # An operator must see the question; a code counts once, however often it is shown.
            others = _list_answers(db, [one.approval for one in asked])
            asker = "you" if place == self.origin and place.private else "the user"
            scene = QuestionScene(self.origin, asker, free, others)
            text = question_text.format_question(asked, scene)
            choices = json.dumps(others) if others else None
            questions.ask_question(db, asked[0].approval, place, text, REPEATS, now, choices)
        if place != self.origin and self.origin.channel != HOOKS:
            told = chat_texts.ASKED_NOBODY if place is None else chat_texts.ASKED_ELSEWHERE
            outbox.add_notice(db, self.origin, told, now)


class ApprovalRules(NamedTuple):
    """By which calls of an agent need an approval, and how it is asked for.

    ``code`` is for a new question. ``find_tool`` returns the tool that another call of the step
    would run, and None if it is refused anyway; ``find_fixed`` the arguments of a tool that the
    prompt's definition sets.
    """

    definition: AgentDefinition
    chats: AskedChats
    code: str
    now: int
    find_tool: Callable[[Call], HostTool | RemoteTool | None] = lambda _: None
    find_fixed: Callable[[str], Mapping[str, object]] = lambda _: {}


class _CallToAsk(NamedTuple):
    call: Call
    tool: HostTool | RemoteTool
    objection: Objection


def check_approval(
    db: Database, call: Call, tool: HostTool | RemoteTool, rules: ApprovalRules
) -> str | ToolResult | Approval | None:
    """Return None if the call may run, inside T4, which uses up its approval.

    Otherwise return the open question, which is sent once, the reason for a refusal, or the result
    that an extension has for the call, which ends with it.
    """
    judged = _judge_call(db, call)
    if isinstance(judged, ToolResult):
        return steps.finish(db, call, judged, rules.now)
    made = approvals.find_approval_of_call(db, call)
    if made is not None and made.state != "pending":
        return _follow_decision(db, call, made, rules.now)
    found = judged or _find_objection(db, call, tool, rules.definition, rules.now)
    if found is None or _is_allowed(db, call, found, rules.now):
        return None
    if made is None:
        return _ask_about_step(db, _CallToAsk(call, tool, found), rules)
    asked = approvals.load_question(db, made)
    return asked[0] if made.is_open(rules.now) else _refuse_call(db, asked, made, rules.now)


def _follow_decision(db: Database, call: Call, made: Approval, now: int) -> str | None:
    """Do as was decided about a call, whatever its turn has read since."""
    # A used one is that of a repeatable call, planned again because a process died during it.
    if made.state == "used" or approvals.use_approval(db, call, now):
        return None
    return _refuse_call(db, approvals.load_question(db, made), made, now)


def _refuse_call(db: Database, asked: Sequence[Approval], made: Approval, now: int) -> str:
    questions.show_outcome(db, asked[0], now)
    why = made.note or "denied or expired"
    others = len(asked) - 1
    if others:
        why += f", together with {others} other call{'s' if others > 1 else ''} of the same step"
    return f"not approved: {why} ({made.reason})"


def _ask_about_step(db: Database, first: _CallToAsk, rules: ApprovalRules) -> Approval:
    """Ask about a call and all others of its step that need an approval, in one question."""
    every, free = [first], list[str]()
    for other in steps.list_unasked_calls(db, first.call)[:MAX_GATHERED]:
        tool = rules.find_tool(other)
        if tool is None:
            continue
        previewed = _preview_objection(db, other, tool, rules)
        if isinstance(previewed, Objection):
            every.append(_CallToAsk(other, tool, previewed))
        elif previewed == FREE:
            free.append(other.name)
    asked = list[AskedCall]()
    for call, tool, objection in every:
        details = QuestionDetails(
            {path: (one.kind, one.name, one.decides) for path, one in objection.sources.items()},
            objection.may_stand,
            asked[0].approval.id if asked else None,
        )
        code = f"{rules.code}.{call.seq}" if asked else rules.code
        made, _ = approvals.request_approval(db, call, objection.reason, code, rules.now, details)
        written = steps.find_written_call(db, call)
        asked.append(AskedCall(made, tool, written, rules.find_fixed(call.name)))
    rules.chats.ask(db, asked, free, rules.now)
    return asked[0].approval


def _preview_objection(
    db: Database, call: Call, tool: HostTool | RemoteTool, rules: ApprovalRules
) -> Objection | str:
    """Return why a later call would need an approval, `FREE`, or nothing if that is not known.

    What the judges of extensions write is undone, as the call does not run now.
    """
    found: Objection | str = ""
    with roll_back_on_failure(db):
        judged = _judge_call(db, call)
        if not isinstance(judged, ToolResult):
            objection = judged or _find_objection(db, call, tool, rules.definition, rules.now)
            allowed = objection is None or _is_allowed(db, call, objection, rules.now)
            found = FREE if objection is None or allowed else objection
        raise _PreviewEndsError
    return found


def _judge_call(db: Database, call: Call) -> Objection | ToolResult | None:
    for extension in find_installed().own.values():
        judged: str | ToolResult | None = extension.judge_call(db, call)
        if judged is not None:
            return Objection(judged) if isinstance(judged, str) else judged
    return None


def _find_objection(
    db: Database, call: Call, tool: HostTool | RemoteTool, definition: AgentDefinition, now: int
) -> Objection | None:
    repeatable = call.side_effect is not SideEffect.NON_IDEMPOTENT
    if not repeatable and approvals.repeats_unknown_call(db, call, now):
        return Objection("the same call was made recently and its outcome is unknown")
    off = definition.provenance == "off"
    found = None if off else provenance.find_objection(db, call, tool)
    if not policy.needs_approval(call.name, definition.approvals):
        return found
    if found is None:
        return Objection(CONFIGURED, may_stand=True)
    return replace(found, reason=f"{CONFIGURED}; {found.reason}")


def _is_allowed(db: Database, call: Call, found: Objection, now: int) -> bool:
    """Return whether an operator has allowed all calls alike, which an extension knows."""
    return found.may_stand and any(
        extension.allow_call(db, call, found.sources, now)
        for extension in find_installed().own.values()
    )


def _list_answers(db: Database, asked: Sequence[Approval]) -> dict[str, str]:
    found = dict[str, str]()
    for extension in find_installed().own.values():
        found |= extension.list_answers(db, asked)
    return found
