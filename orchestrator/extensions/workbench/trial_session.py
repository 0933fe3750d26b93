"""The workers, files and rights of one trial in a daemon."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import anyio

from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench import trial_rows
from orchestrator.extensions.workbench.call_answers import FindObjection
from orchestrator.extensions.workbench.dry_replay import DryReplay
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.todays_memory import load_todays_memory
from orchestrator.extensions.workbench.trial_changes import (
    NOTHING_NEW,
    TodaysSources,
    list_renewed_layers,
)
from orchestrator.extensions.workbench.trial_purse import RunPurse, TrialPurse
from orchestrator.extensions.workbench.trial_rows import StoredRun, TrialRow
from orchestrator.extensions.workbench.trial_worker import (
    TrialHome,
    WorkerMeans,
    keep_worker,
    write_changed_files,
)
from orchestrator.extensions.workbench.tried_home import read_tried_home
from orchestrator.extensions.workbench.tried_turns import TurnTrier
from orchestrator.journal.turns import chat_moves
from orchestrator.journal.turns.steps import Call
from orchestrator.toolcalls import provenance
from thinker.protocol.methods import PlannedCall


@dataclass(frozen=True)
class TrialSession:
    """One trial while it runs in a daemon; ``folder`` is private."""

    daemon: DaemonView
    row: TrialRow
    purse: TrialPurse
    home: TrialHome
    folder: Path

    @asynccontextmanager
    async def open_workers(self) -> AsyncIterator[TurnTrier]:
        """Return what runs turns, one after another; its workers end with the block."""
        daemon, files = self.daemon, self.row.change.request.change.files
        broker, in_thread = daemon.operations.supervisor.broker, daemon.machine.in_thread
        spawn = daemon.machine.spawn_worker
        folders = [Path(await in_thread(partial(mkdtemp, dir=self.folder))) for _ in range(2)]
        recorded = WorkerMeans(folder=folders[1], in_thread=in_thread, spawn=spawn)
        means = replace(recorded, folder=folders[0], files=files, broker=broker)
        async with keep_worker(means) as live, keep_worker(recorded) as dry:
            yield TurnTrier(
                number=self.row.id,
                stored=self.row.change,
                home=self.home,
                live=live,
                dry=DryReplay(_build_home(daemon), dry),
                now=daemon.machine.read_seconds,
                pay=self._pay,
                load_sources=self._load_sources,
                find_objection=self._build_objections,
            )

    async def store_run(self, run: StoredRun) -> bool:
        """Store a run of a turn, whole; return whether its trial goes on."""
        return await self.daemon.store.transact(trial_rows.store_run, self.row.id, run)

    def _pay(self, turn: RecordedTurn, work: str, model: str) -> RunPurse:
        return RunPurse(
            store=self.daemon.store,
            build_rules=self.daemon.calls.gate.build_rules,
            purse=self.purse,
            turn=turn,
            agent_id=turn.parts[0].agent_id,
            work=work,
            model=model,
        )

    async def _load_sources(self, turn: RecordedTurn, number: int) -> TodaysSources:
        """Read what layers and tools of a request are made of now, if any is made anew."""
        change, part = self.row.change.request.change, turn.parts[turn.requests[number].part]
        renewed = list_renewed_layers(change, part)
        if not renewed and not change.add_tools:
            return NOTHING_NEW
        agents, prompts = self.home.agents, self.home.prompts
        memory = await self.daemon.store.transact(load_todays_memory, agents, turn, part)
        definition = agents.find_agent(part.agent_id)
        if definition is None:
            return TodaysSources(memory=memory)
        bundle = prompts.find_bundle(definition)
        tools = self.daemon.turns.inputs.tools.list_offered_tools(definition)
        made = bundle.dump_json() if bundle else None
        return TodaysSources(memory=memory, definition=made, tools=tools)

    def _build_objections(self, turn: RecordedTurn) -> FindObjection:
        """Return a function that says why a call would have to be approved."""
        part = turn.parts[0]

        async def find_objection(call: PlannedCall) -> str:
            servers = self.daemon.turns.inputs.tools.servers
            remote = servers.list_answering_tools(part.agent_id)
            tool = self.home.prompts.host_tools.get(call.name) or remote.get(call.name)
            if tool is None or part.settings.get("provenance") == "off":
                return ""
            known = turn.turn_id, 0, call.id, call.name, tool.spec.side_effect, call.arguments
            asked = Call(*known, "", "planned", None, 0)
            found = await self.daemon.store.read(provenance.find_objection, asked, tool)
            return "" if found is None else found.reason

        return find_objection


@asynccontextmanager
async def open_session(
    daemon: DaemonView, row: TrialRow, purse: TrialPurse
) -> AsyncIterator[TrialSession]:
    """Open the session of a trial, with its changed files.

    Raises:
        OrchestratorError: the changed agents.json cannot be used.
    """
    in_thread, files = daemon.machine.in_thread, row.change.request.change.files
    moves = await daemon.store.read(chat_moves.load_all_moves)
    folder = Path(await in_thread(partial(mkdtemp, prefix="orchestrator-trial-")))
    try:
        await in_thread(write_changed_files, folder, files)
        home = await in_thread(read_tried_home, _build_home(daemon), files, folder, moves)
        yield TrialSession(daemon, row, purse, home, folder)
    finally:
        with anyio.CancelScope(shield=True):
            await in_thread(partial(rmtree, folder, ignore_errors=True))


def _build_home(daemon: DaemonView) -> TrialHome:
    return TrialHome(
        settings=daemon.settings,
        environ=daemon.environ,
        agents=daemon.get_agents_file(),
        prompts=daemon.configuration.prompts.current_set,
    )
