"""The dispatcher: each chat's messages one after another, chats in parallel.

A chat with work has one task. It first finishes the turn that is open in the chat (one that an
earlier process left behind, perhaps) and then admits the chat's messages in order (T2).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.channel_api import ReplyPart
from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import STORAGE_RETRY, report_failure, retry_later
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import cancellations, deadletters, inbox, subagents, turns
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.turns.opener import TurnOpener, TurnOpening, Unsettled
from orchestrator.turns.turn_host import TurnServices
from orchestrator.turns.turn_runner import RECIPES, OpenTurn, TurnRunner
from orchestrator.turns.turn_slot import TurnSlot
from orchestrator.wakeup import Wakeup
from thinker.protocol.logs import bound

STOPPED = ReplyPart(turns.STOPPED)  # for a preview that showed nothing
TASKS_AT_ONCE = 8  # of all agents
TASKS_OF_AGENT = 2  # of one agent, so that its slow tasks do not hold up others
log = structlog.get_logger()


class Dispatcher(Wakeup):
    """Works off the queues of chats. It is woken when the inbox or the configuration changed.

    ``tasks`` must outlive it. To stop, reset ``opener.admitting``: each queue then ends after the
    turn that it has.
    """

    def __init__(self, services: TurnServices, opener: TurnOpener, tasks: TaskGroup) -> None:
        super().__init__()
        self.opener = opener
        self._store = services.store
        self._inputs = services.inputs
        self._delivery = services.delivery
        self._turn_ended = services.suspension.turn_ended
        self._runner_of = partial(TurnRunner.of, services)
        self._tasks = tasks
        self._busy: set[str] = set()  # chats whose queue is worked off
        self._late: set[str] = set()  # busy chats that were found to have more work
        self._scopes: dict[str, anyio.CancelScope] = {}  # of the turns that run, by their ids
        self._cancelled: set[str] = set()  # turns that ended in the journal but still run here
        self._held: set[str] = set()  # chats whose agent is paused, until that may have changed
        self._limits = defaultdict[str, anyio.CapacityLimiter](partial(anyio.CapacityLimiter, 1))
        self._left = Wakeup()
        # After a death in a job of no chat, such as T1, messages are stored before they are read.
        crashes = services.store.crashes
        self._joins = not crashes.deaths or bool(crashes.chat)  # whether T2 may share T1

    def stop(self, turn_ids: Sequence[str]) -> None:
        """Leave turns that were cancelled in the journal."""
        self._inputs.tools.stop(turn_ids)
        for turn_id in turn_ids:
            self._cancelled.add(turn_id)
            scope = self._scopes.get(turn_id)
            if scope is None:  # it does not run yet
                self._tasks.start_soon(self._close_preview, turn_id)
            else:
                scope.cancel()

    async def wait_idle(self) -> None:
        while self._busy:
            await self._left.changed.wait()

    async def run(self) -> None:
        """Work off the queue of every chat that has work, until cancelled."""
        self._tasks.start_soon(self._release_paused)
        guilty = self._store.crashes.convicted
        while True:
            changed = self.changed
            try:
                if guilty is not None:
                    await self._give_up(guilty)
                    guilty = None
                found = self._store.read(
                    _scan, {*self._busy}, [*self._scopes], self.opener.opening()
                )
                chats, interrupted, cancelled = await found
                for chat in interrupted:
                    ended = await self._store.transact(self.opener.opening().interrupt, chat)
                    cancelled += [] if ended is None else [ended]
            except JournalError as error:
                await retry_later(error)
                continue
            self.stop(cancelled)
            for chat in filter(self._take, chats):
                self._tasks.start_soon(self._work_off, chat)
            await changed.wait()

    @contextmanager
    def opening(self, chats: Collection[str]) -> Iterator[Callable[[Database], None]]:
        """Hold idle chats while their messages are stored, so that T2 can share T1's transaction.

        Yields what to call at the end of T1. A failure in it never rolls back T1.
        """
        idle = [*filter(self._take, chats if self._joins else ())]
        opened: dict[str, OpenTurn | None] = {}
        try:
            yield partial(self.opener.opening().open_all, idle, opened)
        except BaseException:
            opened = {}  # whether it was committed is not known: the queues look
            raise
        finally:
            for chat in idle:
                if opened.get(chat, chat) is None:
                    self._leave(chat)
                else:
                    self._tasks.start_soon(self._work_off, chat, opened.get(chat))
            if len(opened) < len(idle):
                self._delivery.wake()  # a chat may have been sent why it is not answered
            if len(idle) < len(chats):
                self.wake()

    def _take(self, chat: str) -> bool:
        if chat in self._busy:
            self._late.add(chat)
        elif chat not in self._held and self.opener.admitting and self._has_room(chat):
            self._busy.add(chat)
            return True
        return False

    def _leave(self, chat: str) -> None:
        self._busy.discard(chat)
        self._left.wake()
        # A task may have waited for this one; a subagent's result may be its parent's message.
        if chat in self._late or chat.startswith((task_runs.QUEUE, subagents.QUEUE)):
            self._late.discard(chat)
            self.wake()

    async def _release_paused(self) -> None:
        while True:
            await self._inputs.guard.changed.wait()
            self._held.clear()
            self.wake()

    async def _work_off(self, chat: str, opened: OpenTurn | None = None) -> None:
        try:
            done: Turn | None = None
            while opened := opened or await self._next(chat, done):
                await self._run(opened)
                done, opened = opened.turn, None
        except JournalError as error:
            self._late.add(chat)
            await retry_later(error, chat=chat)
        except Exception as error:  # a fault in one chat must not end the others
            log.exception("chat_failed", chat=chat)
            self._late.add(chat)
            await self._count_fault(chat, f"{type(error).__name__}: {error}")
            await anyio.sleep(STORAGE_RETRY)
        finally:
            self._leave(chat)
            self._turn_ended.wake()

    async def _count_fault(self, chat: str, problem: str) -> None:
        try:
            count = deadletters.count_fault
            if await self._store.transact(count, chat, problem, self._inputs.clock()):
                self._delivery.wake()
        except JournalError as error:
            report_failure(error)

    async def _give_up(self, chat: str) -> None:
        """Give up the message of a chat that has ended the daemon again and again."""
        died_in, deaths = self._store.crashes.died_in, self._store.crashes.deaths
        problem = f"the daemon died {deaths} times in a row in its {died_in.lstrip('_')}"
        log.error("message_given_up", chat=chat, problem=problem)
        self._busy.add(chat)
        try:
            turn = await self._store.read(turns.open_in, chat)
            if turn is not None:
                runner = await self._runner_of(OpenTurn(turn))
                await runner.give_up(deaths, problem)
            else:
                give_up = deadletters.give_up_next
                await self._store.transact(give_up, chat, problem, self._inputs.clock())
            self._delivery.wake()
        finally:
            self._leave(chat)

    def _has_room(self, chat: str) -> bool:
        """Return whether a queue may begin: people's always, tasks only a few at a time."""
        agent, is_task = _task_agent(chat)
        if not is_task:
            return True
        running = [found for found, task in map(_task_agent, self._busy) if task]
        return len(running) < TASKS_AT_ONCE and running.count(agent) < TASKS_OF_AGENT

    async def _run(self, opened: OpenTurn) -> None:
        turn = opened.turn
        names = {"turn_id": turn.id, "agent_id": turn.agent_id, "chat_id": turn.chat_key}
        shown = ""
        with bound(**names), anyio.CancelScope() as scope:
            self._scopes[turn.id] = scope
            try:
                if turn.id not in self._cancelled:
                    log.info("turn_started", recipe=turn.recipe)
                    runner = await self._runner_of(opened)
                    try:
                        await self._run_within_limit(runner, turn)
                    finally:
                        shown = runner.shown
            finally:
                del self._scopes[turn.id]
        if turn.id in self._cancelled:
            log.info("turn_cancelled", **names)
            channel = turn.chat_key.partition("/")[0]
            seen = self._delivery.formats.split(channel, shown, f"\n\n{turns.STOPPED}")
            await self._close_preview(turn.id, *(seen[:1] if shown.strip() else ()))

    async def _close_preview(self, turn_id: str, ending: ReplyPart = STOPPED) -> None:
        mode, now = self._delivery.formats.mode, self._inputs.clock()

        def close(db: Database) -> None:
            if not turns.close_preview(db, turn_id, ending) and ending is not STOPPED:
                turns.keep_unfinished(db, turn_id, ending, mode, now)

        try:
            await self._store.transact(close)
        except JournalError as error:  # the next start does it
            report_failure(error)
        self._delivery.wake()

    async def _run_within_limit(self, runner: TurnRunner, turn: Turn) -> None:
        """Run a turn, once its agent's maxConcurrentTurns lets it begin."""
        if not RECIPES[turn.recipe].limited:
            await runner.run()
            return
        definition = self._inputs.agents().agent(turn.agent_id)
        limit = self._limits[turn.agent_id]
        limit.total_tokens = 1 if definition is None else definition.limits.max_concurrent_turns
        slot = TurnSlot(limit)
        async with slot.taken():
            await runner.run(slot.given_back)

    async def _next(self, chat: str, done: Turn | None) -> OpenTurn | None:
        """Return the turn to run after ``done``; None when the chat has nothing more to do now."""
        if done is not None and not await self._store.read(inbox.has_work, chat):
            return None
        changed = self._inputs.guard.changed
        while isinstance(found := await self._opened(chat), InboxRow | Unsettled):
            if isinstance(found, Unsettled):
                await anyio.sleep(found.seconds)
            else:
                self._delivery.wake()  # it was refused, and its chat sent why
        if isinstance(found, Pause):
            self._delivery.wake()  # the same
            if not changed.is_set():
                self._held.add(chat)
            return None
        if found is not None and done is not None and found.turn.id == done.id:
            return None  # the daemon stops: the next process resumes the turn
        return found

    async def _opened(self, chat: str) -> OpenTurn | Pause | InboxRow | Unsettled | None:
        with bound(chat_id=chat):
            return await self._store.transact(self.opener.opening().open_next, chat)


def _scan(
    db: Database, busy: Collection[str], running: Collection[str], opening: TurnOpening
) -> tuple[list[str], list[str], list[str]]:
    """Return chats with work, chats whose turn a newer message ends, and cancelled turns.

    Of the turns, those that are ``running`` count; ``busy`` are the chats of such turns.
    """
    chats = inbox.chats_with_work(db)
    waiting = (chat for chat, waits in chats.items() if waits and chat in busy)
    interrupted = [chat for chat in waiting if opening.wants_interrupt(db, chat)]
    return [*chats], interrupted, cancellations.cancelled(db, running)


def _task_agent(chat: str) -> tuple[str, bool]:
    """Return the agent of a task's queue, and whether the queue is a task's."""
    return chat.removeprefix(task_runs.QUEUE).partition("/")[0], chat.startswith(task_runs.QUEUE)
