"""The dispatcher: each chat's messages one after another, chats in parallel.

A chat with work has one lane, a task that first finishes the turn that is open in the chat (one
that an earlier process left behind, perhaps) and then admits its messages in order (T2).
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import apsw
import structlog
from anyio.abc import TaskGroup

from orchestrator.errors import JournalError
from orchestrator.journal.db.store import STORAGE_RETRY, report_failure, retry_later
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import cancellations, inbox, subagents, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.routing import agent_for
from orchestrator.turns.opener import BOUNDED_ELSEWHERE, OpenTurn, TurnOpener
from orchestrator.turns.turn_inputs import TurnServices
from thinker.protocol.logs import bound

TASKS_AT_ONCE = 8  # of all agents
TASKS_OF_AGENT = 2  # of one agent, so that its slow tasks hold up nobody else's
log = structlog.get_logger()


class Dispatcher:
    """Owns the lanes. ``tasks`` must outlive it."""

    def __init__(self, services: TurnServices, tasks: TaskGroup) -> None:
        self._services = services
        self._tasks = tasks
        self._opener = TurnOpener(services)
        self._lanes: set[str] = set()
        self._late: set[str] = set()  # chats with a lane that were found to have work
        self._scopes: dict[str, anyio.CancelScope] = {}  # of the turns in hand, by their ids
        self._cancelled: set[str] = set()  # turns that ended in the journal, still to be let go
        self._held: set[str] = set()  # chats whose agent is paused, until that may have changed
        self._limits: dict[str, anyio.CapacityLimiter] = {}
        self._work = anyio.Event()
        self._ended = anyio.Event()

    def wake(self) -> None:
        """The inbox, or the configuration, has changed."""
        self._work.set()

    @property
    def admitting(self) -> bool:
        """Whether new turns are opened."""
        return self._opener.admitting

    def stop_admitting(self) -> None:
        """Let lanes end after the turn they have."""
        self._opener.admitting = False

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
        self._tasks.start_soon(self._release_paused)
        while True:
            self._work = anyio.Event()
            try:
                chats, impatient, cancelled = self._services.store.read(self._look)
                for chat in impatient:
                    ended = await self._services.store.transact(self._interrupt, chat)
                    cancelled += [] if ended is None else [ended]
            except JournalError as error:
                await retry_later(error)
                continue
            self.stop(cancelled)
            for chat in filter(self._take, chats):
                self._tasks.start_soon(self._lane, chat)
            await self._work.wait()

    @contextmanager
    def opening(self, chats: Collection[str]) -> Iterator[Callable[[apsw.Connection], None]]:
        """For as long as messages of these chats are stored: in free chats T2 goes with T1.

        What it yields is to be called at the end of T1, which nothing in it undoes.
        """
        free, begun = [*filter(self._take, chats)], dict[str, OpenTurn | None]()
        try:
            yield partial(self._opener.open_all, free, begun)
        except BaseException:
            begun.clear()  # nobody knows what became of it: the lanes will see
            raise
        finally:
            for chat in free:
                if begun.get(chat, chat) is None:
                    self._leave(chat)
                else:
                    self._tasks.start_soon(self._lane, chat, begun.get(chat))
            if len(begun) < len(free):
                self._services.delivery.wake()  # a chat may have been told why it is not answered
            if len(free) < len(chats):
                self.wake()

    def _take(self, chat: str) -> bool:
        """Whether a lane may begin in a chat; there is one at a time."""
        if chat in self._lanes:
            self._late.add(chat)
        elif chat not in self._held and self._opener.admitting and self._has_room(chat):
            self._lanes.add(chat)
            return True
        return False

    def _leave(self, chat: str) -> None:
        """A lane has ended."""
        self._lanes.discard(chat)
        self._ended.set()
        self._ended = anyio.Event()
        # A task may have waited for this one; a subagent's result may be its parent's message.
        if chat in self._late or chat.startswith((task_runs.LANE, subagents.LANE)):
            self._late.discard(chat)
            self.wake()

    async def _release_paused(self) -> None:
        """Look again at the chats of paused agents whenever one may have been resumed."""
        while True:
            await self._services.gate.changed.wait()
            self._held.clear()
            self.wake()

    def _look(self, db: apsw.Connection) -> tuple[list[str], list[str], list[str]]:
        """The chats that have work, those whose turn a newer message may end, cancelled turns."""
        chats = inbox.chats_with_work(db)
        busy = (chat for chat, waits in chats.items() if waits and chat in self._lanes)
        impatient = [chat for chat in busy if self._wants_interrupt(db, chat)]
        return [*chats], impatient, cancellations.cancelled(db, self._scopes)

    def _wants_interrupt(self, db: apsw.Connection, chat: str) -> bool:
        """Whether a message waits in a chat that does not want to wait."""
        row = inbox.oldest_new(db, chat)
        patient = row is None or row.ours or row.kind == inbox.REQUEST
        agent_id = None if row is None or patient else agent_for(db, self._services.agents(), row)
        definition = None if agent_id is None else self._services.agents().agent(agent_id)
        return definition is not None and definition.while_busy == "interrupt"

    def _interrupt(self, db: apsw.Connection, chat: str) -> str | None:
        """End the chat's turn for the message that waits; the turn's id."""
        if not self._wants_interrupt(db, chat):
            return None
        return cancellations.cancel(db, chat, "a newer message came", self._services.clock())

    async def _lane(self, chat: str, begun: OpenTurn | None = None) -> None:
        try:
            done: Turn | None = None
            while begun := begun or await self._following(chat, done):
                await self._run(begun)
                done, begun = begun.turn, None
        except JournalError as error:
            self._late.add(chat)
            await retry_later(error, chat=chat)
        except Exception:  # a fault in one chat must not end the others; it is tried again
            log.exception("chat_failed", chat=chat)
            self._late.add(chat)
            await anyio.sleep(STORAGE_RETRY)
        finally:
            self._leave(chat)
            self._services.ends.wake()

    def _has_room(self, lane: str) -> bool:
        """People's chats always have; tasks that come in a storm wait for each other."""
        agent, is_task = _task_agent(lane)
        if not is_task:
            return True
        running = [found for found, task in map(_task_agent, self._lanes) if task]
        return len(running) < TASKS_AT_ONCE and running.count(agent) < TASKS_OF_AGENT

    async def _run(self, begun: OpenTurn) -> None:
        turn, runner = begun.turn, begun.runner
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
            await self._services.store.transact(turns.close_preview, turn_id, shown)
        except JournalError as error:  # the next start does it
            report_failure(error)
        self._services.delivery.wake()

    def _limit(self, agent_id: str) -> anyio.CapacityLimiter:
        definition = self._services.agents().agent(agent_id)
        most = definition.limits.max_concurrent_turns if definition is not None else 1
        limit = self._limits.get(agent_id)
        if limit is None:
            limit = self._limits[agent_id] = anyio.CapacityLimiter(most)
        limit.total_tokens = most
        return limit

    async def _following(self, chat: str, done: Turn | None) -> OpenTurn | None:
        """The turn that is open in the chat, or T2 for its next message that an agent answers.

        None when there is nothing more to do here after the turn that was ``done``.
        """
        if done is not None and not self._services.store.read(inbox.has_work, chat):
            return None
        changed = self._services.gate.changed
        while isinstance(
            found := await self._services.store.transact(self._opener.open_next, chat), InboxRow
        ):
            self._services.delivery.wake()  # it was refused, and its chat told so
        if isinstance(found, Pause):
            self._services.delivery.wake()  # the same
            if not changed.is_set():
                self._held.add(chat)
            return None
        if found is not None and done is not None and found.turn.id == done.id:
            return None  # we are stopping: the next process goes on with it
        return found


def _task_agent(lane: str) -> tuple[str, bool]:
    """The agent of a task's lane, and whether it is one."""
    return lane.removeprefix(task_runs.LANE).partition("/")[0], lane.startswith(task_runs.LANE)
