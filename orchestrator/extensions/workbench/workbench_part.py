"""The workbench in a daemon: the methods of commands and of the page."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, JsonValue

from orchestrator.agentsfile import AgentsFile
from orchestrator.control import trials
from orchestrator.control.editing import FileEdit
from orchestrator.control.protocol import UNKNOWN_NAME, Ack
from orchestrator.control.trials import SavedTurn, TrialContinuation, TrialNumber, TrialRequest
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import Part
from orchestrator.extensions.workbench import trial_rows
from orchestrator.extensions.workbench.gate_settings import GateFields
from orchestrator.extensions.workbench.gate_watch import GateWatch
from orchestrator.extensions.workbench.turn_sample import (
    SWITCH_COMPARE,
    SWITCH_SAMPLE,
    SampleRequest,
)
from thinker.protocol.peer import FAILED, Params, RequestHandler, RpcError

if TYPE_CHECKING:
    from orchestrator.extensions.workbench.gates import Gates
    from orchestrator.extensions.workbench.switch_desk import SwitchDesk
    from orchestrator.extensions.workbench.trial_runs import TrialRunner

M = TypeVar("M", bound=BaseModel)


class WorkbenchPart(Part):
    """Runs trials in a daemon."""

    @cached_property
    def runner(self) -> "TrialRunner":
        """The runner of trials, which most daemons never load."""
        from orchestrator.extensions.workbench.trial_runs import TrialRunner

        return TrialRunner(self.daemon)

    @cached_property
    def _gates(self) -> "Gates":
        from orchestrator.extensions.workbench.gates import Gates

        return Gates(self.daemon, self.runner, self._watch)

    @cached_property
    def _watch(self) -> GateWatch:
        return GateWatch(self.daemon)

    async def judge_edit(self, edit: FileEdit, by: str) -> Iterable[str]:
        if all(
            agent.get_fields(GateFields).gate is None
            for agent in self.daemon.get_agents_file().agents
        ):
            return ()
        return await self._gates.judge_edit(edit, by)

    @cached_property
    def desk(self) -> "SwitchDesk":
        """What the daemon knows of switches to other models."""
        from orchestrator.extensions.workbench.switch_desk import SwitchDesk

        return SwitchDesk(self.daemon.store, self.daemon.get_agents_file, self.daemon.machine.clock)

    async def open(self) -> None:
        node, now = self.daemon.settings.node_url, self.daemon.machine.clock()
        await self.daemon.store.transact(trial_rows.stop_running_trials, node, now)

    async def run(self) -> None:
        """Notice edits that no gate has seen, also before the start."""
        await self._watch.run()

    def adopt_configuration(self, old: AgentsFile, new: AgentsFile) -> None:
        del old, new
        self._watch.wake()

    def reread_skills(self) -> None:
        self._watch.wake()

    def list_hints(self) -> Iterable[str]:
        return self._watch.list_hints()

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {
            trials.TRIAL_ESTIMATE: self._estimate_trial,
            trials.TRIAL_START: partial(self._start_trial, by),
            trials.TRIAL_SHOW: self._show_trial,
            trials.TRIAL_LIST: self._list_trials,
            trials.TRIAL_STOP: self._stop_trial,
            trials.TRIAL_GO_ON: partial(self._continue_trial, by),
            trials.SETS_LIST: self._list_sets,
            trials.SETS_ADD: partial(self._change_set, by, adds=True),
            "gates/tried": self._confirm_gate,
            "sets/export": partial(self._note_export, by),
            "sets/judge": self._judge_set,
            trials.SETS_REMOVE: partial(self._change_set, by, adds=False),
            SWITCH_SAMPLE: self._choose_turns,
            SWITCH_COMPARE: self._compare_trial,
        }

    async def _estimate_trial(self, params: JsonValue) -> Params:
        return await answer_request(TrialRequest, self.runner.estimate_trial, params)

    async def _start_trial(self, by: str, params: JsonValue) -> Params:
        start = partial(self.runner.start_trial, by=by)
        return await answer_request(TrialRequest, start, params)

    async def _show_trial(self, params: JsonValue) -> Params:
        return await answer_request(TrialNumber, self._gates.load_judged_trial, params)

    async def _list_trials(self, params: JsonValue) -> Params:
        del params
        return await self.runner.list_reports()

    async def _stop_trial(self, params: JsonValue) -> Params:
        return await answer_request(TrialNumber, self.runner.stop_trial, params)

    async def _continue_trial(self, by: str, params: JsonValue) -> Params:
        go_on = partial(self.runner.continue_trial, by=by)
        return await answer_request(TrialContinuation, go_on, params)

    async def _list_sets(self, params: JsonValue) -> Params:
        from orchestrator.extensions.workbench.saved_turns import list_saved_turns

        del params
        return await self.daemon.store.read(list_saved_turns)

    async def _change_set(self, by: str, params: JsonValue, *, adds: bool) -> Params:
        from orchestrator.extensions.workbench import saved_turns

        change = saved_turns.add_saved_turn if adds else saved_turns.remove_saved_turn
        store, clock = self.daemon.store, self.daemon.machine.clock
        return await answer_request(
            SavedTurn, lambda saved: store.transact(change, saved, by, clock()), params
        )

    async def _confirm_gate(self, params: JsonValue) -> Params:
        from orchestrator.extensions.workbench.gates import GateTried

        return await answer_request(GateTried, self._gates.confirm_trial, params)

    async def _note_export(self, by: str, params: JsonValue) -> Params:
        from orchestrator.extensions.workbench.cases import SetExport, record_export

        store, clock = self.daemon.store, self.daemon.machine.clock()

        async def note_export(exported: SetExport) -> Ack:
            await store.transact(record_export, exported, clock, by)
            return Ack()

        return await answer_request(SetExport, note_export, params)

    async def _judge_set(self, params: JsonValue) -> Params:
        from orchestrator.extensions.workbench.check_opinions import judge_checks
        from orchestrator.extensions.workbench.set_runs import SetQuestion

        judge = partial(judge_checks, self.daemon, self.runner)
        return await answer_request(SetQuestion, judge, params)

    async def _choose_turns(self, params: JsonValue) -> Params:
        return await answer_request(SampleRequest, self.desk.choose_turns, params)

    async def _compare_trial(self, params: JsonValue) -> Params:
        from orchestrator.extensions.workbench.switch_report import NO_VERDICTS, SwitchQuestion

        async def compare_trial(asked: SwitchQuestion) -> BaseModel:
            report, verdicts = await self.runner.load_report(asked), NO_VERDICTS
            if asked.judge:
                from orchestrator.extensions.workbench.answer_judging import judge_trial

                verdicts = await judge_trial(self.daemon, self.runner, report, asked)
            return await self.desk.compare_trial(report, verdicts)

        return await answer_request(SwitchQuestion, compare_trial, params)


async def answer_request(
    model: type[M], work: Callable[[M], Awaitable[BaseModel]], params: JsonValue
) -> Params:
    """Answer a request, or say in an error what its sender can do about it."""
    try:
        return await work(model.model_validate(params))
    except OrchestratorError as error:
        code = UNKNOWN_NAME if isinstance(error, UnknownNameError) else FAILED
        raise RpcError(code, str(error)) from error
