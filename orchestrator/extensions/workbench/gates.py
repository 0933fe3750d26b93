"""Gates: before a person's edit is saved, the saved turns of each agent that it concerns are tried.

A gate never stands before a reload: a provider's outage must not freeze the configuration.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from orchestrator.agentsfile import AgentsFile
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.editing import FileEdit
from orchestrator.control.protocol import Ack
from orchestrator.control.trials import (
    SavedTurn,
    TrialChange,
    TrialNumber,
    TrialReport,
    TrialRequest,
)
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench.edit_changes import find_gate, list_gated_changes
from orchestrator.extensions.workbench.gate_settings import GateSettings
from orchestrator.extensions.workbench.gate_watch import GateWatch
from orchestrator.extensions.workbench.saved_turns import list_owned_tests, list_saved_turns
from orchestrator.extensions.workbench.set_runs import SetReport, fill_verdicts, judge_set
from orchestrator.extensions.workbench.trial_rows import load_trial
from orchestrator.extensions.workbench.trial_runs import TrialRunner
from orchestrator.journal.db import audit
from thinker.protocol.names import format_turn_name

GATES_TRIED = "gates/tried"  # GateTried → Ack
NO_SET = "-"  # a name that no set can have
PATIENCE = 18.0  # seconds that an editor waits; the trial goes on meanwhile
MAX_TOKENS = 1_000_000  # of a trial, which count where a model has no price
MAX_KNOWN = 100  # trials of edits that were not saved yet
SHOWN = 3  # turns that an objection names
EMPTY = (
    "the gate of agent '{agent}' cannot be tried: the set '{name}' has no turn of it; keep some"
    " with: orchestrator sets add {name} TURN"
)
UNTRIED = "the gate '{name}' of agent '{agent}' cannot be tried: {reason}"
RUNNING = (
    "the gate '{name}' of agent '{agent}' is still being tried (trial {trial}: {done} of {all}"
    " turns); save again to see what came of it"
)
RED = "the gate '{name}' of agent '{agent}' is not green: {summary} (trial {trial})"


class GateTried(CamelModel):
    """A trial of what is in force of an agent, by which its gate is green."""

    agent_id: str
    trial: int


@dataclass(frozen=True)
class GateTrial:
    """A trial of the turns that stand for one agent; without a number there is a ``problem``."""

    agent_id: str
    gate: GateSettings
    tests: tuple[SavedTurn, ...]
    number: int = 0
    problem: str = ""

    def judge_report(self, report: TrialReport) -> str:
        """Return what a report objects to; empty if all turns are green."""
        words = {"name": self.gate.set, "agent": self.agent_id, "trial": self.number}
        if report.state == "running":
            done = sum(run.done for run in report.turns)
            return RUNNING.format(**words, done=done, all=len(self.tests))
        found = SetReport(name=self.gate.set, outcomes=judge_set(self.tests, report.turns))
        if found.is_green:
            return ""
        lines = [RED.format(**words, summary=found.summary)]
        wrong = [one for one in found.outcomes if one.outcome != "green"]
        lines += [
            f"turn {format_turn_name(one.turn)}: {one.why.splitlines()[0]}" for one in wrong[:SHOWN]
        ]
        return "; ".join(lines)


@dataclass
class Gates:
    """The gates of one daemon; ``runner`` runs the trials, ``watch`` knows what was tried."""

    daemon: DaemonView
    runner: TrialRunner
    watch: GateWatch
    _trials: dict[str, int] = field(default_factory=dict, init=False)
    """Trials by what they try, so that a second save of the same text does not pay again."""

    async def judge_edit(self, edit: FileEdit, by: str) -> Sequence[str]:
        """Return why an edit should not be saved: the gates that are not green with it."""
        daemon = self.daemon
        agents, prompts = daemon.get_agents_file(), daemon.configuration.prompts.current_set
        changes = list_gated_changes(edit, agents, prompts, daemon.environ)
        if edit.anyway:
            await self._record_insistence(edit, tuple(changes), by)
            self.watch.let_through(changes)
            return ()
        found = [await self._start_trial(agents, one, changes[one], by) for one in changes]
        with anyio.move_on_after(PATIENCE):
            for one in found:
                if one.number:
                    await self.runner.wait_for_trial(TrialNumber(id=one.number))
        objections = [await self._judge_trial(one) for one in found]
        if not any(objections):
            self.watch.let_through(changes)
        return [one for one in objections if one]

    async def load_judged_trial(self, number: TrialNumber) -> TrialReport:
        """Return a trial; the runs of a test have the verdicts of their checks."""
        report = await self.runner.load_report(number)
        if report.kind != "test":
            return report
        stored = await self.daemon.store.read(load_trial, number.id)
        _, _, set_name = stored.change.request.note.partition(" ")  # after "gate" or "set"
        found = await self.daemon.store.read(list_saved_turns, set_name or NO_SET)
        return fill_verdicts(report, found.turns)

    async def confirm_trial(self, done: GateTried) -> Ack:
        """Note that what is in force of an agent was tried: its gate is green without a change.

        Raises:
            OrchestratorError: it is not.
        """
        agents = self.daemon.get_agents_file()
        definition = agents.find_agent(done.agent_id)
        gate = None if definition is None else find_gate(definition)
        if gate is None:
            raise UnknownNameError(f"agent {done.agent_id!r} has no gate")
        report = await self.runner.load_report(TrialNumber(id=done.trial))
        trial = GateTrial(
            done.agent_id, gate, await self._load_tests(gate, done.agent_id), done.trial
        )
        if report.change.changes_anything or trial.judge_report(report):
            raise OrchestratorError(f"trial {done.trial} is no green one of that gate")
        await self.watch.mark_tried(done.agent_id)
        return Ack()

    async def _start_trial(
        self, agents: AgentsFile, agent_id: str, change: TrialChange, by: str
    ) -> GateTrial:
        """Start a trial, or find the one that tries the same."""
        definition = agents.find_agent(agent_id)
        gate = None if definition is None else find_gate(definition)
        if gate is None:
            raise AssertionError(agent_id)
        tests = await self._load_tests(gate, agent_id)
        if not tests:
            problem = EMPTY.format(agent=agent_id, name=gate.set)
            return GateTrial(agent_id, gate, (), problem=problem)
        key = _make_key(agent_id, change, tests)
        if key not in self._trials:
            request = TrialRequest(
                turns=tuple(test.turn for test in tests),
                change=change,
                kind="test",
                limit_usd=gate.at_most,
                limit_tokens=MAX_TOKENS,
                note=f"gate {gate.set}",
            )
            try:
                begun = await self.runner.start_trial(request, by=by)
            except OrchestratorError as error:
                problem = UNTRIED.format(name=gate.set, agent=agent_id, reason=error)
                return GateTrial(agent_id, gate, tests, problem=problem)
            self._trials[key] = begun.id
        while len(self._trials) > MAX_KNOWN:
            self._trials.pop(next(iter(self._trials)))
        return GateTrial(agent_id, gate, tests, self._trials[key])

    async def _load_tests(self, gate: GateSettings, agent_id: str) -> tuple[SavedTurn, ...]:
        try:
            owned = await self.daemon.store.read(list_owned_tests, gate.set, agent_id)
        except UnknownNameError:
            return ()
        return tuple(one.saved for one in owned if one.agent_id == agent_id)

    async def _judge_trial(self, trial: GateTrial) -> str:
        if not trial.number:
            return trial.problem
        report = await self.runner.load_report(TrialNumber(id=trial.number))
        objection = trial.judge_report(report)
        if objection and report.state == "stopped":
            self._forget_trial(trial.number)
        return objection

    def _forget_trial(self, number: int) -> None:
        """Forget a trial that did not end, so that the next save begins another one."""
        self._trials = {key: one for key, one in self._trials.items() if one != number}

    async def _record_insistence(self, edit: FileEdit, agents: Sequence[str], by: str) -> None:
        if agents:
            subject = f"{edit.name}, agents {', '.join(agents)}"
            now = self.daemon.machine.clock()
            act = "saved in spite of a gate"
            await self.daemon.store.transact(audit.record_decision, by, act, subject, now)


def _make_key(agent_id: str, change: TrialChange, tests: Sequence[SavedTurn]) -> str:
    parts = (agent_id, change.model_dump_json(), *(f"{one.turn} {one.checks}" for one in tests))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
