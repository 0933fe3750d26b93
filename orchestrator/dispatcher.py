"""The dispatcher: each chat's messages one after another, chats in parallel.

A chat with work has one lane, a task that first finishes the turn that is open in the chat (one
that an earlier process left behind, perhaps) and then admits its messages in order (T2).
"""

from collections.abc import Callable, Sequence
from uuid import uuid4

import anyio
import apsw
import structlog
from anyio.abc import TaskGroup

from orchestrator import __version__, handoffs, replies
from orchestrator.delivery import STORAGE_RETRY
from orchestrator.errors import JournalError
from orchestrator.journal import cancellations, inbox, runs, subagents, turns
from orchestrator.journal.inbox import InboxRow
from orchestrator.journal.pauses import Pause
from orchestrator.journal.turns import Admission, Turn
from orchestrator.proactive import TaskTurnRunner
from orchestrator.requests import RequestTurnRunner
from orchestrator.subagents import SubagentTurnRunner
from orchestrator.turn import TurnRunner
from orchestrator.turnrequest import Services, agent_for
from thinker.protocol.logs import bound

TASKS_AT_ONCE = 8  # of all agents
TASKS_OF_AGENT = 2  # of one agent, so that its slow tasks hold up nobody else's
RECIPES = {  # by the kind of message
    inbox.TASK: "proactive",
    inbox.SUBAGENT: "subagent",
    inbox.REQUEST: "request",
}
RUNNERS = {
    "proactive": TaskTurnRunner,
    "subagent": SubagentTurnRunner,
    "request": RequestTurnRunner,
}
BOUNDED_ELSEWHERE = ("proactive", "subagent")  # such a turn takes no place from a person's
UNBOUND = "no agent is bound to this chat"
UNKNOWN = "there is no agent {agent!r} that can answer"
log = structlog.get_logger()


class Dispatcher:
    """Owns the lanes. ``tasks`` must outlive it."""

    def __init__(
        self,
        services: Services,
        tasks: TaskGroup,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        self._with = services
        self._tasks = tasks
        self._new_id = new_id
        self._lanes: set[str] = set()
        self._scopes: dict[str, anyio.CancelScope] = {}  # of the turns in hand, by their ids
        self._cancelled: set[str] = set()  # turns that ended in the journal, still to be let go
        self._held: set[str] = set()  # chats whose agent is paused, until that may have changed
        self._limits: dict[str, anyio.CapacityLimiter] = {}
        self._work = anyio.Event()
        self.admitting = True
        self._ended = anyio.Event()

    def wake(self) -> None:
        """The inbox, or the configuration, has changed."""
        self._work.set()

    def stop_admitting(self) -> None:
        """Let lanes end after the turn they have."""
        self.admitting = False

    def stop(self, turn_ids: Sequence[str]) -> None:
        """Let go of turns that were cancelled in the journal."""
        for turn_id in turn_ids:
            self._cancelled.add(turn_id)
            scope = self._scopes.get(turn_id)
            if scope is None:  # it was not begun yet
                self._tasks.start_soon(self._close_preview, turn_id, "")
            else:
                scope.cancel()

    async def settled(self) -> None:
        """Wait until no chat has a turn in hand."""
        while self._lanes:
            await self._ended.wait()

    async def run(self) -> None:
        """Open a lane for every chat that has work, until cancelled."""
        self._tasks.start_soon(self._let_go)
        while True:
            self._work = anyio.Event()
            try:
                chats, impatient, cancelled = self._with.store.read(self._look)
                for chat in impatient:
                    ended = await self._with.store.transact(self._interrupt, chat)
                    cancelled += [] if ended is None else [ended]
            except JournalError as error:
                log.error("journal_failed", problem=str(error))  # noqa: TRY400 - tried again
                await anyio.sleep(STORAGE_RETRY)
                continue
            self.stop(cancelled)
            for chat in chats:
                busy = chat in self._lanes or chat in self._held
                if not busy and self.admitting and self._has_room(chat):
                    self._lanes.add(chat)
                    self._tasks.start_soon(self._lane, chat)
            await self._work.wait()

    async def _let_go(self) -> None:
        """Look again at the chats of paused agents whenever one may have been resumed."""
        while True:
            await self._with.gate.changed.wait()
            self._held.clear()
            self.wake()

    def _look(self, db: apsw.Connection) -> tuple[list[str], list[str], list[str]]:
        """The chats that have work, those whose turn a newer message may end, cancelled turns."""
        chats = inbox.chats_with_work(db)
        impatient = [chat for chat in chats if chat in self._lanes and self._impatient(db, chat)]
        return chats, impatient, cancellations.cancelled(db, self._scopes)

    def _impatient(self, db: apsw.Connection, chat: str) -> bool:
        """Whether a message waits in a chat that does not want to wait."""
        row = inbox.oldest_new(db, chat)
        patient = row is None or row.ours or row.kind == inbox.REQUEST
        agent_id = None if row is None or patient else agent_for(db, self._with.agents(), row)
        definition = None if agent_id is None else self._with.agents().agent(agent_id)
        return definition is not None and definition.while_busy == "interrupt"

    def _interrupt(self, db: apsw.Connection, chat: str) -> str | None:
        """End the chat's turn for the message that waits; the turn's id."""
        if not self._impatient(db, chat):
            return None
        return cancellations.cancel(db, chat, "a newer message came", self._with.clock())

    async def _lane(self, chat: str) -> None:
        try:
            done: Turn | None = None
            while (turn := await self._following(chat)) is not None:
                if done is not None and turn.id == done.id:
                    return  # we are stopping: the next process goes on with it
                await self._run(turn)
                done = turn
        except JournalError as error:
            log.error("journal_failed", chat=chat, problem=str(error))  # noqa: TRY400 - tried again
            await anyio.sleep(STORAGE_RETRY)
        except Exception:  # a fault in one chat must not end the others; it is tried again
            log.exception("chat_failed", chat=chat)
            await anyio.sleep(STORAGE_RETRY)
        finally:
            self._lanes.discard(chat)
            self._ended.set()
            self._ended = anyio.Event()
            self.wake()  # a message may have come after the last look
            self._with.ends.wake()

    def _has_room(self, lane: str) -> bool:
        """People's chats always have; tasks that come in a storm wait for each other."""
        agent, is_task = _task_agent(lane)
        if not is_task:
            return True
        running = [found for found, task in map(_task_agent, self._lanes) if task]
        return len(running) < TASKS_AT_ONCE and running.count(agent) < TASKS_OF_AGENT

    async def _run(self, turn: Turn) -> None:
        runner = RUNNERS.get(turn.recipe, TurnRunner)(self._with, turn)
        names = {"turn_id": turn.id, "agent_id": turn.agent_id, "chat_id": turn.chat_key}
        with bound(**names), anyio.CancelScope() as scope:
            self._scopes[turn.id] = scope
            try:
                if turn.id in self._cancelled:
                    pass
                elif turn.recipe in BOUNDED_ELSEWHERE:
                    await runner.run()
                else:
                    async with self._limit(turn.agent_id):
                        await runner.run()
            finally:
                del self._scopes[turn.id]
        if turn.id in self._cancelled:
            log.info("turn_cancelled", **names)
            await self._close_preview(turn.id, runner.shown)

    async def _close_preview(self, turn_id: str, shown: str) -> None:
        try:
            await self._with.store.transact(turns.close_preview, turn_id, shown)
        except JournalError as error:  # the next start does it
            log.error("journal_failed", problem=str(error))  # noqa: TRY400 - an expected state
        self._with.delivery.wake()

    def _limit(self, agent_id: str) -> anyio.CapacityLimiter:
        definition = self._with.agents().agent(agent_id)
        most = definition.limits.max_concurrent_turns if definition is not None else 1
        limit = self._limits.get(agent_id)
        if limit is None:
            limit = self._limits[agent_id] = anyio.CapacityLimiter(most)
        limit.total_tokens = most
        return limit

    async def _following(self, chat: str) -> Turn | None:
        """The turn that is open in the chat, or T2 for its next message that an agent answers."""
        changed = self._with.gate.changed
        while isinstance(found := await self._with.store.transact(self._next, chat), InboxRow):
            self._with.delivery.wake()  # it was refused, and its chat told so
        if isinstance(found, Pause):
            self._with.delivery.wake()  # the same
            if not changed.is_set():
                self._held.add(chat)
            return None
        return found

    def _next(self, db: apsw.Connection, chat: str) -> Turn | Pause | InboxRow | None:
        """The open turn, a new one, or the pause or the message because of which there is none."""
        found = turns.open_in(db, chat)
        row = inbox.oldest_new(db, chat) if found is None and self.admitting else None
        if row is None:
            return found
        now = self._with.clock()
        handoffs.recover(db, self._with.agents(), chat, now)
        agent_id = agent_for(db, self._with.agents(), row)
        if agent_id is None:
            reason = UNBOUND if row.target is None else UNKNOWN.format(agent=row.target)
            log.warning("message_refused", chat=chat, reason=reason)
            told = row.private and not row.ours
            inbox.refuse(db, row, reason, replies.NO_AGENT if told else None, now)
            return row
        admission = Admission(
            turn_id=self._new_id(),
            agent_id=agent_id,
            epoch=self._with.epoch,
            minutes=self._minutes(db, agent_id, row),
            code_version=__version__,
            recipe=RECIPES.get(row.kind, "interactive"),
        )
        pause = self._with.gate.admits(db, agent_id, row)
        if pause is not None:
            return pause
        turn = turns.admit(db, row, admission, now)
        if turn is not None and turn.recipe not in RUNNERS:  # which may need no model
            self._with.gate.reserve(db, turn)
        return turn

    def _minutes(self, db: apsw.Connection, agent_id: str, row: InboxRow) -> float:
        """How long a turn may take."""
        if row.kind == inbox.SUBAGENT:
            return subagents.of_message(db, row.id).spec.timeout_minutes
        definition = self._with.agents().agent(agent_id)
        return definition.limits.turn_minutes if definition is not None else 1


def _task_agent(lane: str) -> tuple[str, bool]:
    """The agent of a task's lane, and whether it is one."""
    return lane.removeprefix(runs.LANE).partition("/")[0], lane.startswith(runs.LANE)
