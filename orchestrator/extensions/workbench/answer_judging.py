"""Let a model judge differing answers: it is not told which is which, and asked in both orders."""

from orchestrator.control.trials import TrialReport
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench.asked_models import (
    AskedModel,
    find_problem,
    format_question,
    open_trier,
)
from orchestrator.extensions.workbench.recorded_turns import load_recorded_turn
from orchestrator.extensions.workbench.switch_report import SwitchQuestion, Verdict, Verdicts
from orchestrator.extensions.workbench.trial_runs import TrialRunner

ORDER = """\
You compare two answers of an assistant to the same message. Judge only how well each of them helps
the person who wrote it: whether it is right, complete and clear. Neither length nor order counts.
Reply with one word: A, B or SAME."""

# By the judgements in the two orders: of the record as A, and of the record as B.
VERDICTS: dict[tuple[str, ...], Verdict] = {
    ("A", "B"): "worse",
    ("B", "A"): "better",
    ("SAME", "SAME"): "same",
}


async def judge_trial(
    daemon: DaemonView, runner: TrialRunner, report: TrialReport, asked: SwitchQuestion
) -> Verdicts:
    """Return the judgements about all answers of a trial that differ, by turn and run.

    Raises:
        OrchestratorError: the model must not be told the answers, or does not answer.
    """
    runs = [
        run
        for run in report.turns
        if run.alike is not None and run.tried.answer != run.recorded.answer
    ]
    if not runs:
        return {}
    turns = [run.turn_id for run in runs]
    problem = await find_problem(runner, report, turns, asked.judge, asked.confirmed)
    if problem:
        raise OrchestratorError(problem)
    found: dict[tuple[str, int], Verdict] = {}
    async with open_trier(daemon, report) as trier:
        model = AskedModel(trier, asked.judge)
        for run in runs:
            turn = await daemon.store.read(load_recorded_turn, run.turn_id)
            work = f"trial/{report.id}/{run.turn_id}/judged"
            texts, words = (run.recorded.answer, run.tried.answer), list[str]()
            for n, (a, b) in enumerate((texts, texts[::-1])):
                parts = {"Message": turn.question, "Answer A": a, "Answer B": b}
                words.append(await model.ask(turn, f"{work}/{n}", ORDER, format_question(parts)))
            found[run.turn_id, run.nth] = VERDICTS.get(tuple(words), "undecided")
    return found
