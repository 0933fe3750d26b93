"""``orchestrator try``: what another model would have done in recorded turns, and at what cost."""

import re
from collections.abc import Iterator
from typing import Annotated

import anyio
import typer

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.cli.client import ask_daemon, connect_to_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_agents, load_settings
from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.control import trials
from orchestrator.control.daemon_answer import ANSWER_SECONDS
from orchestrator.control.trials import (
    MAX_TURNS,
    TrialChange,
    TrialEstimate,
    TrialNumber,
    TrialReport,
    TrialRequest,
)
from orchestrator.errors import OrchestratorError, UnknownAgentError
from orchestrator.extensions.workbench.switch_costs import ExpectedSum
from orchestrator.extensions.workbench.switch_report import Pace, SwitchReport
from orchestrator.extensions.workbench.turn_sample import (
    SWITCH_COMPARE,
    SWITCH_SAMPLE,
    SampleRequest,
    TurnSample,
)
from orchestrator.settings import Settings
from thinker.protocol.providers import split_reference

LOOK = 0.5  # seconds until a running trial is asked for again
LISTED = 20  # differences
LIMIT = re.compile(r"\$?(?P<usd>\d+(\.\d+)?)|(?P<tokens>\d+)t")
HEADINGS = {
    "effect": "effects",
    "stopped": "stopped",
    "calls": "calls",
    "text": "text",
    "length": "length",
}

app = make_command_group()


@app.command("try")
def try_model(  # noqa: PLR0913 - one for each option
    *,
    model: Annotated[str, typer.Option(help="The model to try: its name, or PROVIDER/MODEL.")],
    agent: Annotated[str, typer.Option(help="Id of the agent (default: the only one).")] = "",
    last: Annotated[
        str, typer.Option(metavar="DAYS", help="Choose among turns of so many days.")
    ] = "7d",
    turns: Annotated[int, typer.Option(min=1, max=MAX_TURNS, help="Turns to try.")] = 40,
    limit: Annotated[
        str, typer.Option(help="Stop before it costs more dollars, or tokens, such as 200000t.")
    ] = "",
    confirm: Annotated[
        str, typer.Option(metavar="PROVIDER", help="Let this new provider read the turns.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Try another model on recorded turns, and show what it did otherwise.

    The turns are of every day and kind, and the dearest among them. Nothing is sent or stored but
    the trial: calls of tools get their recorded results, and a call without one stops its turn.
    """
    settings = load_settings(home)
    tried = _find_agent(load_agents(settings), agent)
    reference = "/".join(split_reference(model, tried.llm_provider, tried.providers))
    asked = SampleRequest(agent_id=tried.agent_id, days=_parse_days(last), turns=turns)
    sample = ask_daemon(settings, SWITCH_SAMPLE, asked, TurnSample)
    limit_usd, limit_tokens = _parse_limit(limit)
    request = TrialRequest(
        turns=sample.turns,
        change=TrialChange(model=reference),
        kind="switch",
        confirmed=confirm,
        limit_usd=limit_usd,
        limit_tokens=limit_tokens,
    )
    estimate = ask_daemon(settings, trials.TRIAL_ESTIMATE, request, TrialEstimate)
    _require_start(estimate, confirm)
    for line in _describe_estimate(sample, estimate):
        print_text(line, err=as_json)
    if not yes:
        typer.confirm("Try them?", abort=True, err=as_json)
    number = anyio.run(_run_trial, settings, request)
    report = ask_daemon(settings, SWITCH_COMPARE, number, SwitchReport)
    if as_json:
        print_json(report)
    else:
        _print_report(report, tried)


async def _run_trial(settings: Settings, request: TrialRequest) -> TrialNumber:
    """Start a trial, wait for its end and return its number."""
    async with connect_to_daemon(settings) as peer:
        started = await peer.call(trials.TRIAL_START, request, TrialReport, timeout=ANSWER_SECONDS)
        number = TrialNumber(id=started.id)
        while started.state == "running":
            await anyio.sleep(LOOK)
            started = await peer.call(
                trials.TRIAL_SHOW, number, TrialReport, timeout=ANSWER_SECONDS
            )
    return number


def _find_agent(file: AgentsFile, name: str) -> AgentDefinition:
    known = [agent.agent_id for agent in file.agents]
    if not name and len(known) != 1:
        raise UnknownAgentError(f"name the agent with --agent: {', '.join(known)}")
    found = file.find_agent(name or known[0])
    if found is None:
        raise UnknownAgentError(f"unknown agent {name!r}; agents.json has {', '.join(known)}")
    return found


def _parse_days(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)d?", text)
    if found is None:
        raise typer.BadParameter("write days, such as 7d", param_hint="--last")
    return float(found[1])


def _parse_limit(text: str) -> tuple[float | None, int | None]:
    """Return dollars and tokens, one or both of them None."""
    found = LIMIT.fullmatch(text)
    if text and found is None:
        raise typer.BadParameter(
            "write dollars, such as 0.50, or tokens, such as 200000t", param_hint="--limit"
        )
    usd, tokens = (None, None) if found is None else (found["usd"], found["tokens"])
    return float(usd) if usd else None, int(tokens) if tokens else None


def _require_start(estimate: TrialEstimate, confirmed: str) -> None:
    """Require that a trial may start, and that whom it would tell is named.

    Raises:
        OrchestratorError: it may not; the message says why.
    """
    new = estimate.new_provider
    if new and new != confirmed:
        people = "1 person" if estimate.people == 1 else f"{estimate.people} people"
        raise OrchestratorError(
            f"{format_count(estimate.messages, 'message')} of {people} would be sent to {new}"
            f" (new); if they may be, add --confirm {new}"
        )
    if estimate.problem:
        raise OrchestratorError(estimate.problem)


def _describe_estimate(sample: TurnSample, estimate: TrialEstimate) -> Iterator[str]:
    """Yield what is going to be tried, and at what cost."""
    chosen = f"{len(sample.turns)} of {format_count(sample.of, 'turn')} of {sample.agent_id}"
    older = f"; {sample.older} older ones lack what a trial needs" if sample.older else ""
    yield f"{chosen}{older}"
    cost = "cost unknown"
    if estimate.low_usd is not None and estimate.high_usd is not None:
        cost = f"about ${estimate.low_usd:.4f} to ${estimate.high_usd:.4f}"
    left = "" if estimate.left_usd is None else f"; ${estimate.left_usd:.2f} left for trials"
    calls = format_count(estimate.calls, "model call")
    yield f"{calls}, {estimate.tokens:,} tokens, {cost}{left}"


def _print_report(report: SwitchReport, agent: AgentDefinition) -> None:
    print_text(
        f"{report.alike} of {format_count(report.runs, 'run')} alike, {report.otherwise} call"
        f" something else; {report.gained} would have had effects that did not happen, and"
        f" {report.lost} would not have had one that did; {report.stopped} stopped"
    )
    shown = report.differences[:LISTED]
    columns: Columns = {
        "what": lambda one: HEADINGS[one.kind],
        "turn": lambda one: one.turn_id[-6:],
        "question": "question",
        "recorded → tried": "says",
    }
    print_records("Differences", shown, columns)
    if len(report.differences) > LISTED:
        print_text(f"and {len(report.differences) - LISTED} more; --json has all of them")
    print_records("Calls", report.shifts, {"recorded": "before", "tried": "after", "runs": "runs"})
    for line in _describe_costs(report):
        print_text(line)
    for line in report.unsaid:
        print_text(f"cannot be said: {line}")
    for line in _describe_edit(report, agent):
        print_text(line)


def _describe_costs(report: SwitchReport) -> Iterator[str]:
    """Yield what a week costs now and would cost, and how long turns take."""
    turns = format_count(report.turns, "turn")
    if report.week_usd is not None and report.month_usd is not None:
        before = "unknown" if report.recorded_usd is None else f"${report.recorded_usd:.4f}"
        yield (
            f"cost of the week ({turns}): recorded {before}, with {report.model}"
            f" {_format_dollars(report.week_usd)}; of a month {_format_dollars(report.month_usd)}"
        )
    elif report.week_tokens is not None:
        tokens = report.week_tokens
        yield (
            f"tokens of the week ({turns}): recorded {report.recorded_tokens:,}, with"
            f" {report.model} about {tokens.likely:,.0f} ({tokens.low:,.0f} to {tokens.high:,.0f})"
        )
    if report.pace_before is not None and report.pace_after is not None:
        before, after = map(_format_pace, (report.pace_before, report.pace_after))
        yield f"time of a turn: recorded {before}, tried {after}"


def _describe_edit(report: SwitchReport, agent: AgentDefinition) -> Iterator[str]:
    """Yield the change of agents.json by which the agent would use the model."""
    provider, model = split_reference(report.model, agent.llm_provider, agent.providers)
    before = {"llmProvider": agent.llm_provider, "model": agent.model}
    after = {"llmProvider": provider, "model": model}
    if before == after:
        return
    yield f"to make it so: orchestrator config edit, agent {agent.agent_id}:"
    for mark, fields in (("-", before), ("+", after)):
        for name, value in fields.items():
            if before[name] != after[name] and value:
                yield f'  {mark} "{name}": "{value}"'


def _format_dollars(cost: ExpectedSum) -> str:
    return f"about ${cost.likely:.4f} (${cost.low:.4f} to ${cost.high:.4f})"


def _format_pace(pace: Pace) -> str:
    return f"{pace.median / 1000:.1f} s (95 % within {pace.p95 / 1000:.1f} s)"
