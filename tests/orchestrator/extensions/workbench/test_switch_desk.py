"""The journal's part in a switch: turns to try, and what the week would cost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes.agents_file import parsed
from fakes.journal import CLASSES, job, open_turn, opened, step, store_in

from orchestrator.control.trials import (
    TrialChange,
    TrialReport,
    TriedStep,
    TriedTurn,
    TurnRecord,
)
from orchestrator.errors import OrchestratorError, UnknownAgentError
from orchestrator.extensions.workbench.switch_desk import SwitchDesk
from orchestrator.extensions.workbench.turn_sample import DAY, SampleRequest
from orchestrator.journal.turns import steps, turns, usage
from orchestrator.journal.turns.prompt_records import NO_SOURCES, PromptSources
from thinker.protocol.messages import LayerRecord, Usage
from thinker.protocol.prompt_record import PromptRecord

NOW = 20 * DAY
PROMPT = PromptRecord(layers=(LayerRecord(name="base", text="Be brief."),))
PRICES = {"groq/llama": {"input": 1.0, "output": 2.0}}


def live(folder: Path, number: int, days_ago: int, *, whole: bool = True) -> str:
    """An ended turn of an agent."""
    name, at = f"t{number}", NOW - days_ago * DAY
    sources = PromptSources(settings={"max_steps": 8}) if whole else NO_SOURCES
    with opened(folder) as db:
        turn = open_turn(db, name)
        with job(db):
            commit = step(name).model_copy(update={"prompt": PROMPT})
            steps.plan(db, commit, CLASSES, 1, at, sources)
            used = Usage(prompt=1_000_000, completion=100_000)
            usage.record_usage(db, "work", name, "openai/m", used, 3.0, at)
            turns.end_with_reply(db, turn, [], "direct", ("done", None), at)
            db.execute("UPDATE turn SET started_at = ? WHERE id = ?", (at, name))
    return name


@asynccontextmanager
async def desk_in(folder: Path) -> AsyncIterator[SwitchDesk]:
    """The desk of a home with the agent work."""
    agent = {"agentId": "work", "llmProvider": "groq", "model": "mixtral"}
    file = parsed(agent, prices=PRICES).file
    with opened(folder):
        pass
    store = store_in(folder)
    try:
        yield SwitchDesk(store, lambda: file, lambda: NOW)
    finally:
        store.close()


async def test_turns_of_the_days_are_chosen_that_can_be_tried_again(tmp_path: Path) -> None:
    """It is said how many are too old for it."""
    live(tmp_path, 1, 9)
    chosen = [live(tmp_path, 2, 3), live(tmp_path, 3, 1)]
    live(tmp_path, 4, 2, whole=False)
    async with desk_in(tmp_path) as desk:
        found = await desk.choose_turns(SampleRequest(agent_id="work"))
        assert (list(found.turns), found.of, found.older) == (chosen, 2, 1)
        one = await desk.choose_turns(SampleRequest(agent_id="work", days=10, turns=1))
        assert (len(one.turns), one.of) == (1, 3)


async def test_agent_without_turns_is_told_apart_from_an_unknown_one(tmp_path: Path) -> None:
    """The one may be tried later."""
    live(tmp_path, 1, 1, whole=False)
    async with desk_in(tmp_path) as desk:
        with pytest.raises(OrchestratorError, match="1 were recorded by an older version"):
            await desk.choose_turns(SampleRequest(agent_id="work"))
        with pytest.raises(UnknownAgentError, match="'home'"):
            await desk.choose_turns(SampleRequest(agent_id="home"))


def tried(model: str, *names: str) -> TrialReport:
    """A trial in which a model needed half the tokens."""
    took = TriedStep(model=model, prompt=500_000, completion=50_000)
    runs = (
        TriedTurn(turn_id=name, done=True, fidelity="same", tried=TurnRecord(steps=(took,)))
        for name in names
    )
    return TrialReport(
        id=1,
        kind="switch",
        agent_id="work",
        state="done",
        change=TrialChange(model=model),
        at=NOW,
        turns=tuple(runs),
    )


async def test_week_before_the_trial_is_what_costs_are_of(tmp_path: Path) -> None:
    """What it cost, and what it would with the prices of agents.json; a month is in proportion."""
    live(tmp_path, 1, 9)
    names = [live(tmp_path, number, 1) for number in range(2, 8)]
    async with desk_in(tmp_path) as desk:
        found = await desk.compare_trial(tried("groq/llama", *names))
    assert (found.turns, found.recorded_usd, found.recorded_tokens) == (6, 18.0, 6_600_000)
    assert found.week_usd is not None
    assert found.week_usd.likely == pytest.approx(6 * 0.6)
    assert found.month_usd is not None
    assert found.month_usd.likely == pytest.approx(6 * 0.6 * 30 / 7)
    assert found.week_tokens is not None
    assert found.week_tokens.likely == pytest.approx(3_300_000)


async def test_model_without_a_price_is_told_in_tokens(tmp_path: Path) -> None:
    """And how to set its price."""
    name = live(tmp_path, 1, 1)
    async with desk_in(tmp_path) as desk:
        found = await desk.compare_trial(tried("groq/unheard-of", name))
    assert (found.week_usd, found.month_usd) == (None, None)
    assert found.week_tokens is not None
    assert '"groq/unheard-of"' in found.unsaid[-1]
