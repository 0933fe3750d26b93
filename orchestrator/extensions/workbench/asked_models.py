"""Ask a model one question about a recorded turn, within the limits of a trial and at its cost."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from orchestrator.control.trials import TrialChange, TrialReport, TrialRequest
from orchestrator.errors import OrchestratorError
from orchestrator.extension import DaemonView
from orchestrator.extensions.workbench import trial_rows
from orchestrator.extensions.workbench.invention import SilentHost
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.extensions.workbench.trial_purse import TrialPurse
from orchestrator.extensions.workbench.trial_runs import TrialRunner
from orchestrator.extensions.workbench.trial_session import open_session
from orchestrator.extensions.workbench.trial_worker import ModelOnTrial, build_trial_spec
from orchestrator.extensions.workbench.tried_turns import TurnTrier
from thinker.protocol.messages import AUTO, LayerRecord, Usage, UserMessage
from thinker.protocol.methods import TurnRun
from thinker.protocol.prompt_record import ModelSettings, PromptRecord

MINUTES = 5  # for one answer
WORDS = 200  # tokens of one, which may be thought over
MOST_CHARACTERS = 8_000  # of each text in a question


async def find_problem(
    runner: TrialRunner, report: TrialReport, turns: Iterable[str], model: str, confirmed: str
) -> str:
    """Return why a model must not see turns of a trial, or cannot; empty if it may.

    ``confirmed`` is as a trial of that model has it.
    """
    asked = TrialRequest(
        turns=tuple(dict.fromkeys(turns)),
        change=TrialChange(model=model),
        limit_tokens=report.limit_tokens,
        confirmed=confirmed,
    )
    return (await runner.estimate_trial(asked)).problem


@asynccontextmanager
async def open_trier(daemon: DaemonView, report: TrialReport) -> AsyncIterator[TurnTrier]:
    """Open the workers of a trial that has ended, with what is left of its money."""
    row = await daemon.store.read(trial_rows.load_trial, report.id)
    purse = TrialPurse(report.limit_usd, report.limit_tokens, report.usd, report.tokens)
    async with open_session(daemon, row, purse) as session, session.open_workers() as trier:
        yield trier


@dataclass(frozen=True)
class AskedModel:
    """A ``model`` that answers with one word, in the workers of a trial."""

    trier: TurnTrier
    model: str

    async def ask(self, turn: RecordedTurn, work: str, order: str, text: str) -> str:
        """Return the model's word on a text, in capitals; ``work`` names the call in the usage.

        Raises:
            OrchestratorError: the model does not answer, or there is no money for it.
        """
        trier = self.trier
        means, model = trier.live.means, ModelOnTrial(name=self.model, called=True)
        spec = build_trial_spec(trier.home, turn.parts[0], model, means.folder, means.files)
        worker, purse = await trier.live.find_worker(spec), trier.pay(turn, work, self.model)
        refused = await purse.reserve_call(Usage(prompt=len(text) // 3 + 200, completion=WORDS))
        if refused:
            raise OrchestratorError(refused)
        host, now = SilentHost(), trier.now()
        try:
            result = await worker.run_turn(
                self._build_run(turn, work, (order, text), now), host, now
            )
        finally:
            if host.step is None:
                await purse.release()
        if host.step is None:
            raise OrchestratorError(f"{self.model} did not answer: {result.error or result.text}")
        await purse.settle_call(host.step.model, host.step.usage)
        return host.step.response.content.strip().strip(".*\"'").upper()

    def _build_run(
        self, turn: RecordedTurn, work: str, texts: tuple[str, str], now: float
    ) -> TurnRun:
        order, text = texts
        settings = ModelSettings(model=self.model, temperature=0.0, tool_choice=AUTO, parallel=True)
        return TurnRun(
            turn_id=work,
            chat=turn.chat,
            messages=(UserMessage(content=text),),
            started_at=now,
            deadline=now + MINUTES * 60,
            given=PromptRecord(layers=(LayerRecord(name="base", text=order),), settings=settings),
        )


def format_question(texts: Mapping[str, str]) -> str:
    """Return texts one below the other, each under its name and not too long."""
    return "\n\n".join(f"{name}:\n{text[:MOST_CHARACTERS]}" for name, text in texts.items())
