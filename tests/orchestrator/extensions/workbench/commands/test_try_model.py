"""``orchestrator try``: what it asks a daemon for, refuses and prints."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fakes.control_server import Answer, ask, command, serving
from pydantic import JsonValue

from orchestrator.control import trials
from orchestrator.control.trials import TrialChange, TrialEstimate, TrialReport
from orchestrator.extensions.workbench.switch_costs import ExpectedSum
from orchestrator.extensions.workbench.switch_report import (
    Pace,
    SwitchDifference,
    SwitchReport,
    ToolShift,
)
from orchestrator.extensions.workbench.turn_sample import (
    SWITCH_COMPARE,
    SWITCH_SAMPLE,
    TurnSample,
)
from thinker.protocol.peer import Params

SAMPLE = TurnSample(agent_id="work", turns=("turn-1", "turn-2"), of=30, older=4)
ESTIMATE = TrialEstimate(
    turns=2, calls=5, tokens=12_000, low_usd=0.01, high_usd=0.03, left_usd=0.21
)
REPORT = SwitchReport(
    trial=3,
    agent_id="work",
    model="groq/llama",
    runs=2,
    alike=1,
    otherwise=1,
    gained=1,
    lost=0,
    stopped=0,
    shifts=(ToolShift(before="not called", after="send_mail", runs=1),),
    differences=(
        SwitchDifference(
            turn_id="turn-000002",
            nth=1,
            kind="effect",
            question="Tell Bob",
            says='not called → send_mail {"to": "bob"}',
            likeness=0.2,
        ),
    ),
    turns=30,
    recorded_usd=1.5,
    week_usd=ExpectedSum(low=0.4, likely=0.5, high=0.7),
    month_usd=ExpectedSum(low=1.7, likely=2.1, high=3.0),
    pace_before=Pace(median=2000, p95=9000),
    pace_after=Pace(median=900, p95=3000),
    unsaid=("every turn was tried once; another run may differ",),
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the agents work and home."""
    agents = [
        {"agentId": name, "llmProvider": "openai", "model": "gpt-4o"} for name in ("work", "home")
    ]
    (tmp_path / "agents.json").write_text(json.dumps({"agents": agents}), "utf-8")
    return tmp_path


def answers(estimate: TrialEstimate = ESTIMATE, **fields: Any) -> Mapping[str, Answer]:
    """Those of a daemon whose trial has ended when it is looked at for the second time."""
    states = ["running", "running", "done", "done"]

    def build_trial(_: object) -> TrialReport:
        return TrialReport.model_validate(
            {"id": 3, "kind": "switch", "agentId": "work", "state": states.pop(0)}
            | {"change": TrialChange(), "at": 0}
        )

    async def show_trial(params: JsonValue) -> Params:
        return build_trial(params)

    return {
        SWITCH_SAMPLE: SAMPLE,
        trials.TRIAL_ESTIMATE: estimate,
        trials.TRIAL_START: show_trial,
        trials.TRIAL_SHOW: show_trial,
        SWITCH_COMPARE: REPORT.model_copy(update=fields),
    }


TRY = ("try", "--model", "groq/llama", "--agent", "work")


async def test_trial_is_estimated_asked_for_and_reported(home: Path) -> None:
    """The change that makes it so comes last."""
    async with serving(home, answers()) as server:
        done = await ask(home, *TRY, "--limit", "0.50", said="y\n")
    assert done.exit_code == 0, done.output
    (sent,) = server.params(trials.TRIAL_START)
    assert sent == server.params(trials.TRIAL_ESTIMATE)[0]
    assert isinstance(sent, dict)
    assert (sent["turns"], sent["kind"], sent["limitUsd"]) == (
        ["turn-1", "turn-2"],
        "switch",
        0.5,
    )
    assert sent["change"]["model"] == "groq/llama"  # type: ignore[index,call-overload]
    shown = done.stdout
    for text in (
        "2 of 30 turns of work; 4 older ones lack what a trial needs",
        "Start it? [y/N]",
        "1 of 2 runs alike, 1 call something else; 1 would have had effects",
        'not called → send_mail {"to": "bob"}',
        "cost of the week (30 turns): recorded $1.5000, with groq/llama about $0.5000 ($0.4",
        "of a month about $2.1000",
        "recorded 2.0 s (95 % within 9.0 s), tried 0.9 s (95 % within 3.0 s)",
        "cannot be said: every turn was tried once",
        "orchestrator config edit, agent work:",
        '- "llmProvider": "openai"',
        '+ "llmProvider": "groq"',
        '+ "model": "llama"',
    ):
        assert text in shown
    assert shown.index("Differences") < shown.index("Calls")


async def test_nothing_starts_without_a_yes(home: Path) -> None:
    """The estimate was seen and was too much."""
    async with serving(home, answers()) as server:
        done = await ask(home, *TRY, said="n\n")
    assert done.exit_code == 1
    assert server.params(trials.TRIAL_START) == []


WHOSE = "212 messages of 3 people would be sent to groq"
NEW = ESTIMATE.model_copy(update={"new_provider": "groq", "messages": 212, "people": 3})


@pytest.mark.parametrize("confirmed", [(), ("--confirm", "openai"), ("--yes", "--confirm", "x")])
async def test_new_provider_is_not_told_anything_unless_it_is_named(
    home: Path, confirmed: tuple[str, ...]
) -> None:
    """Neither yes nor another name will do; whose words it would get is said."""
    refused = NEW.model_copy(update={"problem": WHOSE})
    async with serving(home, answers(refused)) as server:
        done = await ask(home, *TRY, *confirmed, said="y\n")
    assert done.exit_code == 1
    assert WHOSE in done.output
    assert server.params(trials.TRIAL_START) == []


async def test_name_can_be_typed_where_it_is_asked_for(home: Path) -> None:
    """Nothing else starts the trial."""
    refused = NEW.model_copy(update={"problem": WHOSE})
    async with serving(home, answers(refused)) as server:
        done = await ask(home, *TRY, said="groq\n")
    assert done.exit_code == 0
    (sent,) = server.params(trials.TRIAL_START)
    assert isinstance(sent, dict)
    assert sent["confirmed"] == "groq"


async def test_named_provider_may_be_told(home: Path) -> None:
    """The daemon, which checks it too, gets the name."""
    async with serving(home, answers(NEW)) as server:
        done = await ask(home, *TRY, "--confirm", "groq", "--yes", "--json")
    assert SwitchReport.model_validate_json(done.stdout) == REPORT
    (sent,) = server.params(trials.TRIAL_START)
    assert isinstance(sent, dict)
    assert sent["confirmed"] == "groq"


async def test_problem_of_a_trial_is_told_before_a_question(home: Path) -> None:
    """As where a model has no price and the trial no limit."""
    estimate = ESTIMATE.model_copy(update={"problem": "set a limit in tokens"})
    async with serving(home, answers(estimate)) as server:
        done = await ask(home, *TRY, "--yes")
    assert (done.exit_code, done.stderr.strip()) == (1, "set a limit in tokens")
    assert server.params(trials.TRIAL_START) == []


async def test_model_without_a_price_is_told_in_tokens(home: Path) -> None:
    """Its trial has a limit in tokens."""
    tokens = ExpectedSum(low=90, likely=1000, high=2000)
    fields: dict[str, Any] = {"week_usd": None, "recorded_tokens": 3000, "week_tokens": tokens}
    async with serving(home, answers(**fields)) as server:
        done = await ask(
            home, *TRY, "--limit-tokens", "5000", "--yes", "--last", "2d", "--turns", "9"
        )
    assert "recorded 3,000, with groq/llama about 1,000 (90 to 2,000)" in done.stdout
    (sampled,) = server.params(SWITCH_SAMPLE)
    assert sampled == {"agentId": "work", "days": 2.0, "turns": 9}
    (sent,) = server.params(trials.TRIAL_START)
    assert isinstance(sent, dict)
    assert (sent["limitTokens"], sent["limitUsd"]) == (5000, None)


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("--model", ""), 2, "name the model to try"),
        (("--last", "a week"), 2, "write days, such as 7d"),
        (("--last", "0d"), 2, "write days, such as 7d"),
        (("--last", "367"), 2, "at most 366"),
        (("--agent", "other"), 64, "agents.json has home, work"),
        (("--agent", ""), 64, "name the agent with --agent: home, work"),
    ],
)
async def test_argument_that_cannot_be_used_is_refused(
    home: Path, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    """With what to write instead."""
    async with serving(home, answers()):
        done = await ask(home, *TRY, *arguments)
    assert (done.exit_code, problem in " ".join(done.stderr.split())) == (code, True)


def test_command_needs_a_daemon(home: Path) -> None:
    """Which alone may spend money."""
    assert command(home, *TRY).exit_code == 3
