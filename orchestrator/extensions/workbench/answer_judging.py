"""Let a model judge differing answers: it is not told which is which, and asked in both orders."""

from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.control.trials import TrialChange, TrialReport, TrialRequest, TriedTurn
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench import trial_rows
from orchestrator.extensions.workbench.invention import SilentHost
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn, load_recorded_turn
from orchestrator.extensions.workbench.switch_report import SwitchQuestion, Verdict, Verdicts
from orchestrator.extensions.workbench.trial_purse import RunPurse, TrialPurse
from orchestrator.extensions.workbench.trial_runs import TrialRunner
from orchestrator.extensions.workbench.trial_session import open_session
from orchestrator.extensions.workbench.trial_worker import ModelOnTrial, build_trial_spec
from orchestrator.extensions.workbench.tried_turns import TurnTrier
from thinker.protocol.messages import AUTO, LayerRecord, Usage, UserMessage
from thinker.protocol.methods import TurnRun
from thinker.protocol.prompt_record import ModelSettings, PromptRecord

MINUTES = 5  # for one judgement
WORDS = 200  # tokens of one, which may be thought over
MOST_CHARACTERS = 8_000  # of a question and of an answer
ORDER = """\
You compare two answers of an assistant to the same message. Judge only how well each of them helps
the person who wrote it: whether it is right, complete and clear. Neither length nor order counts.
Reply with one word: A, B or SAME."""

# By the judgements in the two orders: of the record as A, and of the record as B.
VERDICTS: dict[tuple[str, str], Verdict] = {
    ("A", "B"): "worse",
    ("B", "A"): "better",
    ("SAME", "SAME"): "same",
}


async def judge_trial(
    daemon: DaemonView, runner: TrialRunner, report: TrialReport, asked: SwitchQuestion
) -> Verdicts:
    """Return the judgements about all answers of a trial that differ, by turn and run.

    Raises:
        OrchestratorError: the model must not be told the answers, or cannot be asked.
    """
    runs = [
        run
        for run in report.turns
        if run.alike is not None and run.tried.answer != run.recorded.answer
    ]
    if not runs:
        return {}
    told = TrialRequest(
        turns=tuple(dict.fromkeys(run.turn_id for run in runs)),
        change=TrialChange(model=asked.judge),
        limit_tokens=report.limit_tokens,
        confirmed=asked.confirmed,
    )
    problem = (await runner.estimate_trial(told)).problem
    if problem:
        raise OrchestratorError(problem)
    return await AnswerJudge(daemon, report, asked.judge).judge_answers(runs)


@dataclass(frozen=True)
class AnswerJudge:
    """Judges the answers of one trial with a ``model``."""

    daemon: DaemonView
    report: TrialReport
    model: str

    async def judge_answers(self, runs: Sequence[TriedTurn]) -> Verdicts:
        """Return whether the answers of runs are better than the recorded ones, by turn and run.

        Raises:
            OrchestratorError: the model does not answer, or there is no money for it.
        """
        report, store = self.report, self.daemon.store
        row = await store.read(trial_rows.load_trial, report.id)
        purse = TrialPurse(report.limit_usd, report.limit_tokens, report.usd, report.tokens)
        found: dict[tuple[str, int], Verdict] = {}
        async with (
            open_session(self.daemon, row, purse) as session,
            session.open_workers() as trier,
        ):
            for run in runs:
                turn = await store.read(load_recorded_turn, run.turn_id)
                texts = run.recorded.answer, run.tried.answer
                pairs = enumerate((texts, texts[::-1]))
                words = [await self._ask(trier, purse, turn, n, pair) for n, pair in pairs]
                verdict = VERDICTS.get((words[0], words[1]), "undecided")
                found[run.turn_id, run.nth] = verdict
        return found

    async def _ask(
        self,
        trier: TurnTrier,
        purse: TrialPurse,
        turn: RecordedTurn,
        order: int,
        answers: tuple[str, str],
    ) -> str:
        """Return the model's word about two answers."""
        part = turn.parts[0]
        model = ModelOnTrial(name=self.model, called=True)
        means = trier.live.means
        worker = await trier.live.find_worker(
            build_trial_spec(trier.home, part, model, means.folder, means.files)
        )
        work = f"trial/{self.report.id}/{turn.turn_id}/judged/{order}"
        pays = RunPurse(
            store=self.daemon.store,
            build_rules=self.daemon.calls.gate.build_rules,
            purse=purse,
            turn=turn,
            agent_id=part.agent_id,
            work=work,
            model=self.model,
        )
        text = _describe_pair(turn.question, answers)
        refused = await pays.reserve_call(Usage(prompt=len(text) // 3 + 200, completion=WORDS))
        if refused:
            raise OrchestratorError(refused)
        host, now = SilentHost(), self.daemon.machine.read_seconds()
        try:
            await worker.run_turn(self._build_run(turn, work, text, now), host, now)
        finally:
            if host.step is None:
                await pays.release()
        if host.step is None:
            raise OrchestratorError(f"{self.model} did not judge the answers")
        await pays.settle_call(host.step.model, host.step.usage)
        return host.step.response.content.strip().strip(".*\"'").upper()

    def _build_run(self, turn: RecordedTurn, work: str, text: str, now: float) -> TurnRun:
        settings = ModelSettings(model=self.model, temperature=0.0, tool_choice=AUTO, parallel=True)
        return TurnRun(
            turn_id=work,
            chat=turn.chat,
            messages=(UserMessage(content=text),),
            started_at=now,
            deadline=now + MINUTES * 60,
            given=PromptRecord(layers=(LayerRecord(name="base", text=ORDER),), settings=settings),
        )


def _describe_pair(question: str, answers: tuple[str, str]) -> str:
    parts = {"Message": question, "Answer A": answers[0], "Answer B": answers[1]}
    return "\n\n".join(f"{name}:\n{text[:MOST_CHARACTERS]}" for name, text in parts.items())
