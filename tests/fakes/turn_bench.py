"""A daemon's turns in memory: the real journal and parts, workers that follow a script."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
from anyio.abc import TaskGroup
from fakes.agents_file import parsed
from fakes.journal import connection_in, job, receive, store_in, update
from fakes.note_tools import TOOLS
from fakes.placed_agents import PlacedAgents
from fakes.time_limit import time_limit
from fakes.tool_call import plain

from orchestrator.agentsfile import AgentsFile
from orchestrator.channel_api import ChannelStatus, InboundMessage, Intake, OutboundPart, ReplyPart
from orchestrator.files import OffLoop, run_off_loop
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns import turns
from orchestrator.media_service import NoMedia
from orchestrator.outbound.delivery import Delivery
from orchestrator.processes.supervisor import Supervisor
from orchestrator.processes.worker import Worker, WorkerHost
from orchestrator.prompts.library import PromptLibrary
from orchestrator.prompts.prompt_set import PromptSet
from orchestrator.settings import Settings
from orchestrator.spending.metered_calls import MeteredCalls
from orchestrator.spending.spending_guard import SpendingGuard
from orchestrator.toolcalls.approvals import ApprovalQueue
from orchestrator.toolcalls.executor import ToolExecutor
from orchestrator.tools.remote_tools import NoRemoteTools
from orchestrator.turns.attachments import AttachmentFetcher
from orchestrator.turns.completion import TurnCompletion
from orchestrator.turns.dispatcher import Dispatcher
from orchestrator.turns.embedding_index import EmbeddingIndex
from orchestrator.turns.input_loader import InputLoader
from orchestrator.turns.opener import TurnOpener
from orchestrator.turns.suspension import TurnSuspension
from orchestrator.turns.turn_services import TurnServices
from orchestrator.wakeup import Wakeup
from thinker.protocol.messages import AssistantMessage, JsonObject, ToolCall
from thinker.protocol.methods import PlannedCall, StepCommit, StopReason, TurnResult, TurnRun

START = 1_770_000_000_000  # milliseconds
Script = Callable[[TurnRun, WorkerHost], Awaitable[TurnResult]]


def done(text: str) -> TurnResult:
    """An answer."""
    return TurnResult(text=text, stop_reason=StopReason.DONE, steps=1)


def response(
    run: TurnRun, text: str = "", *calls: tuple[str, JsonObject], ends: TurnResult | None = None
) -> StepCommit:
    """A step: a model's text and the calls of these tools."""
    made = [
        ToolCall(id=f"c{n}", name=name, arguments=given) for n, (name, given) in enumerate(calls)
    ]
    return StepCommit(
        turn_id=run.turn_id,
        response=AssistantMessage(content=text, tool_calls=tuple(made)),
        calls=tuple(PlannedCall(id=c.id, name=c.name, arguments=c.arguments) for c in made),
        model="demo/demo",
        ends=ends,
    )


async def echo(run: TurnRun, host: WorkerHost) -> TurnResult:
    """Answer with the newest message; the last step ends the turn."""
    result = done(f"echo: {run.messages[-1].content}")
    await host.commit_step(response(run, result.text, ends=result))
    return result


@dataclass
class ScriptedWorker:
    """Runs turns by a script, as a process would."""

    script: Script
    runs: list[TurnRun] = field(default_factory=list)
    stop_requested: bool = False
    hung: bool = False
    embedded: set[str] = field(default_factory=set)
    spec: Any = field(default_factory=lambda: SimpleNamespace(describe_run=lambda *_: {}))

    async def run_turn(self, run: TurnRun, host: WorkerHost, now: float) -> TurnResult:
        """Follow the script."""
        del now
        self.runs.append(run)
        return await self.script(run, host)


class ScriptedSupervisor(Supervisor):
    """Hands out scripted workers; ``refusals`` are raised first, one per use.

    ``wait_for_place`` takes the time that a turn waits for its worker.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        super().__init__(tasks)
        self.workers: dict[str, ScriptedWorker] = {}
        self.refusals: list[Exception] = []
        self.back = Wakeup()
        self.wait_for_place: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def use_worker(self, agent_id: str) -> AsyncIterator[Worker]:
        """The agent's worker."""
        if self.refusals:
            raise self.refusals.pop(0)
        self.wait_for_place()
        yield cast("Worker", self.workers[agent_id])

    async def wait_until_available(self, agent_id: str) -> None:
        """Every agent is available again when ``back`` is woken."""
        del agent_id
        await self.back.changed.wait()


class MemoryChannel:
    """A Telegram whose messages arrive here."""

    name, bot_id, can_edit, can_show_files = "telegram", "1", False, True
    deduplicates = is_read_from_journal = False

    def __init__(self) -> None:
        self.status = ChannelStatus(name="telegram")
        self.sent: list[tuple[str, str]] = []
        self.changed = Wakeup()

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Never."""
        del chat_id
        return False

    async def run(self, intake: Intake) -> None:
        """Hear nothing."""

    def split(self, text: str, mark: str = "") -> tuple[ReplyPart, ...]:
        """One part, if there is a text."""
        return (ReplyPart(text + mark),) if text else ()

    async def wait_for_rate(self, chat_id: str) -> None:
        """Admit all calls."""

    async def send(self, part: OutboundPart) -> str:
        """Keep it."""
        self.sent.append((part.chat_id, part.text))
        self.changed.wake()
        return str(len(self.sent))

    async def edit(self, part: OutboundPart, message_id: str) -> None:
        """Not possible here."""

    async def remove(self, chat_id: str, message_id: str) -> None:
        """Not possible here."""

    async def download(self, handle: str, limit: int) -> bytes:
        """No attachments."""
        raise NotImplementedError

    def show_unfinished_answer(self, chat_id: str, text: str) -> None:
        """Show nothing."""

    def wake_waiting_clients(self, chat_id: str) -> None:
        """Tell nothing."""

    async def show_typing(self, chat_id: str, thread_id: str | None) -> None:
        """Show nothing."""

    async def until(self, count: int) -> list[str]:
        """Wait for so many messages; the texts of all that came."""

        async def enough() -> bool:
            return len(self.sent) >= count

        await self.changed.wait_until(enough)
        return [text for _, text in self.sent]

    async def until_sent(self, text: str) -> None:
        """Wait for a message with this text."""

        async def found() -> bool:
            return text in [sent for _, sent in self.sent]

        await self.changed.wait_until(found)


@dataclass
class TurnBench:
    """The parts, and a second connection to look at the journal.

    ``placement`` has the agents whose turns go on here.
    """

    db: Database
    store: Store
    supervisor: ScriptedSupervisor
    channel: MemoryChannel
    approvals: ApprovalQueue
    guard: SpendingGuard
    tools: ToolExecutor
    opener: TurnOpener
    dispatcher: Dispatcher
    files: list[AgentsFile]
    now: list[int]
    placement: PlacedAgents
    tasks_ended: list[str] = field(default_factory=list)
    numbers: int = 0

    def scripted(self, script: Script, agent_id: str = "work") -> ScriptedWorker:
        """Let an agent's worker follow a script."""
        worker = self.supervisor.workers[agent_id] = ScriptedWorker(script)
        return worker

    def hears(self, *texts: str, chat_id: str = "7", **fields: Any) -> None:
        """Store messages of a chat (T1) and wake the dispatcher."""
        messages: list[InboundMessage] = []
        for text in texts:
            self.numbers += 1
            message = update(self.numbers, text, chat_id)
            messages.append(replace(message, **fields))
        receive(self.db, *messages, now=self.now[0])
        self.dispatcher.wake()

    def states(self) -> list[str]:
        """The states of all turns, in the order in which they began."""
        return [str(state) for (state,) in self.db.execute("SELECT state FROM turn ORDER BY rowid")]

    def inbox(self) -> list[str]:
        """The states of all messages."""
        return [str(state) for (state,) in self.db.execute("SELECT state FROM inbox ORDER BY id")]

    async def until_state(self, state: str) -> None:
        """Wait until the newest turn is in a state."""
        while (self.states() or [""])[-1] != state:
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def turn_bench(
    folder: Path,
    *agents: Mapping[str, Any],
    bindings: Sequence[Mapping[str, str]] = (),
    off_loop: OffLoop = run_off_loop,
) -> AsyncIterator[TurnBench]:
    """Run a dispatcher; every chat is bound to the first agent, ``work`` by default."""
    entries = [{"llmProvider": "demo", **agent} for agent in agents or ({"agentId": "work"},)]
    anywhere = {"channel": "telegram", "chatId": "*", "agentId": entries[0]["agentId"]}
    loaded = parsed(*entries, bindings=[*bindings, anywhere])
    assert not loaded.errors
    files, now, settings = [loaded.file], [START], Settings(home=folder)
    settings.paths.create_directories()
    store = store_in(settings.home)
    db = connection_in(settings.home)
    try:
        with job(db):
            epoch = turns.boot(db, START)
        with time_limit():
            async with anyio.create_task_group() as tasks:
                bench = _wired(tasks, store, db, settings, epoch, files, now, off_loop)
                for entry in entries:
                    bench.scripted(echo, str(entry["agentId"]))
                tasks.start_soon(bench.dispatcher.run)
                tasks.start_soon(bench.guard.run)
                yield bench
                tasks.cancel_scope.cancel()
    finally:
        db.close()
        store.close()


def _wired(
    tasks: TaskGroup,
    store: Store,
    db: Database,
    settings: Settings,
    epoch: int,
    files: list[AgentsFile],
    now: list[int],
    off_loop: OffLoop,
) -> TurnBench:
    environ = {"TZ": "UTC"}
    agents, clock = partial(files.__getitem__, 0), partial(now.__getitem__, 0)
    supervisor, channel = ScriptedSupervisor(tasks), MemoryChannel()
    guard = SpendingGuard(store, agents, environ, clock)
    calls = MeteredCalls(store, supervisor, guard)
    media = NoMedia(store, plain)
    delivery = Delivery(store, {"telegram": channel}, tasks, clock, media.store_speech)
    tasks.start_soon(delivery.run, "telegram")
    prompts, approvals = PromptLibrary(settings), ApprovalQueue(store, clock)
    prompts.adopt_set(PromptSet(host_tools=TOOLS))
    servers = NoRemoteTools()

    def changed() -> None:
        dispatcher.wake()
        delivery.wake()

    tools = ToolExecutor(
        store, servers, prompts, tasks, approvals, clock, changed, delivery.activity
    )
    embeddings = EmbeddingIndex(calls, lambda: 0.0)
    pictures = AttachmentFetcher(store, {"telegram": channel}, clock)
    inputs = InputLoader(
        store=store,
        agents=agents,
        prompts=prompts,
        tools=tools,
        guard=guard,
        pictures=pictures,
        embeddings=embeddings,
        media=media,
        clock=clock,
    )
    completion = TurnCompletion(
        store=store,
        delivery=delivery,
        find_agent=lambda agent_id: agents().find_agent(agent_id),
        clock=clock,
    )
    ended: list[str] = []
    turn_ended = Wakeup()
    suspension = TurnSuspension(store, supervisor, delivery, approvals, guard, turn_ended, clock)
    placement = PlacedAgents(*(agent.agent_id for agent in agents().agents))
    services = TurnServices(
        store=store,
        inputs=inputs,
        delivery=delivery,
        supervisor=supervisor,
        settings=settings,
        environ=environ,
        completion=completion,
        suspension=suspension,
        task_ended=lambda: ended.append("task"),
        placement=placement,
        off_loop=off_loop,
    )
    opener = TurnOpener(inputs, epoch)
    dispatcher = Dispatcher(services, opener, tasks)
    return TurnBench(
        db,
        store,
        supervisor,
        channel,
        approvals,
        guard,
        tools,
        opener,
        dispatcher,
        files,
        now,
        placement,
        ended,
    )
