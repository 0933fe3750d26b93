"""The dispatcher: run each chat's messages one after another, and chats in parallel.

A chat with work has one task. It first finishes the turn that is open in the chat (one that an
earlier process left behind, perhaps) and then admits the chat's messages in order (T2).

Where: is the order of a chat's messages kept?
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import anyio
import structlog
from anyio.abc import TaskGroup

from orchestrator.agentsfile import AgentDefinition
from orchestrator.channel_api import ReplyPart
from orchestrator.errors import JournalError
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import STORAGE_RETRY, report_failure, retry_later
from orchestrator.journal.schedule import task_runs
from orchestrator.journal.turns import (
    cancellations,
    deadletters,
    deferred_commands,
    inbox,
    subagents,
    turns,
)
from orchestrator.journal.turns.pauses import Pause
from orchestrator.journal.turns.turns import Turn
from orchestrator.placement import Share, name_turn_owner
from orchestrator.turns.guilty_message import GuiltyMessage
from orchestrator.turns.opener import (
    CommandsFirst,
    IncompleteAlbum,
    Obstacle,
    TurnOpener,
    TurnOpening,
)
from orchestrator.turns.turn_runner import OpenTurn, TurnRunner, TurnSlot, find_recipe
from orchestrator.turns.turn_services import TurnServices
from orchestrator.wakeup import Wakeup
from thinker.protocol.logs import bound

STOPPED = ReplyPart(turns.STOPPED)  # for a preview that showed nothing
TASKS_AT_ONCE = 8  # of all agents
TASKS_OF_AGENT = 2  # of one agent, so that its slow tasks do not hold up others
log = structlog.get_logger()


class Dispatcher(Wakeup):
    """Works through the queues of chats, woken when the inbox or configuration changes.

    ``tasks`` must outlive it. To stop, reset ``opener.admitting``: each queue then ends after the
    turn that it has. ``answer_commands`` answers the chat commands of a queue that other nodes left
    for this one.
    """

    answer_commands: Callable[[str], Awaitable[None]]

    def __init__(self, services: TurnServices, opener: TurnOpener, tasks: TaskGroup) -> None:
        super().__init__()
        self.opener = opener
        self._store = services.store
        self._inputs = services.inputs
        self._delivery = services.delivery
        self._services = services
        self._turn_ended = services.suspension.turn_ended
        self._tasks = tasks
        self._busy: set[str] = set()  # chats whose queue is worked off
        self._late: set[str] = set()  # busy chats that were found to have more work
        self._scopes: dict[str, anyio.CancelScope] = {}  # of the turns that run, by their ids
        self._owners: dict[str, str] = {}  # of these turns
        self._cancelled: set[str] = set()  # turns that ended in the journal but still run here
        self._held: set[str] = set()  # chats whose agent is paused, until that may have changed
        self._limits = defaultdict[str, anyio.CapacityLimiter](partial(anyio.CapacityLimiter, 1))
        self._left = Wakeup()
        # After a death in a job of no chat, such as T1, messages are stored before they are read.
        crashes = services.store.crashes
        self._joins = not crashes.deaths or bool(crashes.chat)  # whether T2 may share T1
        chat = crashes.guilty_chat
        self._guilty = None if chat is None else GuiltyMessage(services, chat)

    def stop_turns(self, turn_ids: Sequence[str]) -> None:
        """Abandon turns that were cancelled in the journal."""
        self._inputs.tools.stop_calls(turn_ids)
        for turn_id in turn_ids:
            self._cancelled.add(turn_id)
            scope = self._scopes.get(turn_id)
            if scope is None:  # it does not run yet
                self._tasks.start_soon(self._close_preview, turn_id)
            else:
                scope.cancel()

    def leave_turns(self, share: Share) -> bool:
        """Abandon here the turns that another node runs now; return whether none is left."""
        left = [turn_id for turn_id in self._scopes if self._owners[turn_id] in share]
        self._inputs.tools.stop_calls(left)
        for turn_id in left:
            self._scopes[turn_id].cancel()
        return not left

    async def wait_idle(self) -> None:
        while self._busy:
            await self._left.changed.wait()

    async def run(self) -> None:
        """Work through the queue of every chat that has work, until cancelled."""
        self._tasks.start_soon(self._release_paused_chats)
        while True:
            changed, opening = self.changed, self.opener.build_opening()
            try:
                if self._guilty is not None and await self._guilty.give_up(opening):
                    self._guilty = None
                chats, interrupted, cancelled = await self._store.read(
                    _scan_chats, {*self._busy}, [*self._scopes], opening
                )
                for chat in interrupted:
                    ended = await self._store.transact(opening.interrupt_turn, chat)
                    cancelled += [] if ended is None else [ended]
            except JournalError as error:
                await retry_later(error)
                continue
            self.stop_turns(cancelled)
            for chat in filter(self._take_chat, chats):
                self._tasks.start_soon(self._work_off_queue, chat)
            await changed.wait()

    @contextmanager
    def hold_chats(self, chats: Collection[str]) -> Iterator[Callable[[Database], None]]:
        """Hold idle chats while their messages are stored, so that T2 can share T1's transaction.

        Yields what to call at the end of T1. A failure in it never rolls back T1.
        """
        idle = [*filter(self._take_chat, chats if self._joins and self._guilty is None else ())]
        opened: dict[str, OpenTurn | None] = {}
        try:
            yield partial(self.opener.build_opening().open_all, idle, opened)
        except BaseException:
            opened = {}  # whether it was committed is not known: the queues look
            raise
        finally:
            for chat in idle:
                if opened.get(chat, chat) is None:
                    self._release_chat(chat)
                else:
                    self._tasks.start_soon(self._work_off_queue, chat, opened.get(chat))
            if len(opened) < len(idle):
                self._delivery.wake()  # a chat may have been sent why it is not answered
            if len(idle) < len(chats):
                self.wake()

    def _take_chat(self, chat: str) -> bool:
        if chat in self._busy:
            self._late.add(chat)
            return False
        orders = chat.startswith(deferred_commands.QUEUE)  # /stop ends what has not ended yet
        if chat in self._held or not (self.opener.admitting or orders):
            return False
        if chat.startswith(task_runs.QUEUE) and not self._has_room_for_task(chat):
            return False
        self._busy.add(chat)
        return True

    def _release_chat(self, chat: str) -> None:
        self._busy.discard(chat)
        self._left.wake()
        # A task may have waited for this one; a subagent's result may be its parent's message.
        if chat in self._late or chat.startswith((task_runs.QUEUE, subagents.QUEUE)):
            self._late.discard(chat)
            self.wake()

    async def _release_paused_chats(self) -> None:
        while True:
            await self._inputs.guard.changed.wait()
            self._held.clear()
            self.wake()

    async def _work_off_queue(self, chat: str, opened: OpenTurn | None = None) -> None:
        try:
            if chat.startswith(deferred_commands.QUEUE):
                return await self.answer_commands(chat)
            done: Turn | None = None
            more: bool | None = None  # whether there is more to do, if that is known
            while opened := opened or await self._find_next_turn(chat, done, more=more):
                more = await self._run_turn(opened)
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
            self._release_chat(chat)
            self._turn_ended.wake()

    async def _count_fault(self, chat: str, problem: str) -> None:
        try:
            opening = self.opener.build_opening()
            if await self._store.transact(_count_own_fault, chat, problem, opening):
                self._delivery.wake()
        except JournalError as error:
            report_failure(error)

    def _has_room_for_task(self, chat: str) -> bool:
        """Return whether a task's queue may begin: only a few at a time, unlike people's."""
        running = [
            _find_task_agent(busy) for busy in self._busy if busy.startswith(task_runs.QUEUE)
        ]
        agent = _find_task_agent(chat)
        return len(running) < TASKS_AT_ONCE and running.count(agent) < TASKS_OF_AGENT

    async def _run_turn(self, opened: OpenTurn) -> bool | None:
        """Run a turn; return whether its chat has more to do, None if unknown."""
        turn = opened.turn
        names = {"turn_id": turn.id, "agent_id": turn.agent_id, "chat_id": turn.chat_key}
        runner, more = None, None
        with bound(**names), anyio.CancelScope() as scope:
            self._scopes[turn.id] = scope
            self._owners[turn.id] = name_turn_owner(turn.agent_id, turn.chat_key)
            try:
                if turn.id not in self._cancelled:
                    log.info("turn_started", recipe=turn.recipe)
                    runner = await opened.make_runner(self._services)
                    more = await self._run_within_limit(runner, opened)
            finally:
                del self._scopes[turn.id], self._owners[turn.id]
        if turn.id in self._cancelled:
            more, shown = None, "" if runner is None else runner.shown_text
            log.info("turn_cancelled", **names)
            channel = turn.chat_key.partition("/")[0]
            seen = self._delivery.formats.split_text(channel, shown, f"\n\n{turns.STOPPED}")
            await self._close_preview(turn.id, seen[0] if shown.strip() else STOPPED)
        return more

    async def _close_preview(self, turn_id: str, ending: ReplyPart = STOPPED) -> None:
        mode, now = self._delivery.formats.choose_mode, self._inputs.clock()
        share = self.opener.placement.share
        try:
            await self._store.transact(turns.end_preview, turn_id, ending, mode, now, share)
        except JournalError as error:  # the next start does it
            report_failure(error)
        self._delivery.wake()

    async def _run_within_limit(self, runner: TurnRunner, opened: OpenTurn) -> bool | None:
        """Run a turn, once its agent's maxConcurrentTurns allows it."""
        turn = opened.turn
        if not find_recipe(turn.recipe).limited:
            return await runner.run()
        if opened.preloaded is not None:
            definition: AgentDefinition | None = opened.preloaded.context.definition
        else:
            definition = self._inputs.agents().find_agent(turn.agent_id)
        most = 1 if definition is None else definition.limits.max_concurrent_turns
        limit = self._limits[turn.agent_id]
        if limit.total_tokens != most:
            limit.total_tokens = most
        slot = TurnSlot(limit)
        async with slot.hold_place():
            return await runner.run(slot.lend_place)

    async def _find_next_turn(
        self, chat: str, done: Turn | None, *, more: bool | None
    ) -> OpenTurn | None:
        """Return the turn to run after ``done``; None if the chat has no more work now.

        Work that arrives after ``more`` was determined is noticed when the chat is left.
        """
        if done is not None and more is None:
            more = await self._store.read(inbox.has_work, chat)
        if done is not None and not more:
            return None
        changed = self._inputs.guard.changed
        while isinstance(found := await self._open_next_turn(chat), Obstacle):
            if isinstance(found, IncompleteAlbum):
                await anyio.sleep(found.seconds)
            elif isinstance(found, CommandsFirst):
                await self.answer_commands(found.queue)
            else:
                self._delivery.wake()  # it was refused, and its chat sent why
        if isinstance(found, Pause):
            self._delivery.wake()  # the same
            if not changed.is_set():
                self._held.add(chat)
            return None
        if found and done and (found.turn.id, found.turn.agent_id) == (done.id, done.agent_id):
            return None  # the daemon stops: the next process resumes the turn
        return found

    async def _open_next_turn(self, chat: str) -> OpenTurn | Pause | Obstacle | None:
        with bound(chat_id=chat):
            return await self._store.transact(self.opener.build_opening().open_next, chat)


def _scan_chats(
    db: Database, busy: Collection[str], running: Collection[str], opening: TurnOpening
) -> tuple[list[str], list[str], list[str]]:
    """Return chats with work, chats whose turn a newer message ends, and cancelled turns.

    Chats are those that this node works for. Of the turns, those that are ``running`` count;
    ``busy`` are the chats of such turns.
    """
    found = inbox.list_chats_with_work(db).items()
    chats = {chat: new for chat, new in found if opening.has_own_work(db, chat)}
    waiting = (chat for chat, waits in chats.items() if waits and chat in busy)
    interrupted = [chat for chat in waiting if opening.is_interrupt_wanted(db, chat)]
    return [*chats], interrupted, cancellations.list_cancelled_turns(db, running)


def _count_own_fault(db: Database, chat: str, problem: str, opening: TurnOpening) -> bool:
    """Count a fault, unless another node works for the chat now; return whether to tell it."""
    now = opening.rules.clock()
    return opening.has_own_work(db, chat) and deadletters.count_fault(db, chat, problem, now)


def _find_task_agent(chat: str) -> str:
    """Return the agent of a task's queue."""
    return chat.removeprefix(task_runs.QUEUE).partition("/")[0]
