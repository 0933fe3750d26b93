"""``orchestrator try``: what another model would have done in recorded turns, and at what cost."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import anyio
import typer

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.cli.client import ask_daemon, connect_to_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_agents, load_settings
from orchestrator.cli.output import format_count, print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.control.daemon_answer import ANSWER_SECONDS
from orchestrator.control.trials import MAX_TURNS, TrialChange, TrialRequest
from orchestrator.errors import OrchestratorError, UnknownAgentError, join_names
from orchestrator.extensions.workbench.commands.option_groups import spread_options
from orchestrator.extensions.workbench.commands.replay import run_trial
from orchestrator.extensions.workbench.switch_costs import ExpectedSum
from orchestrator.extensions.workbench.switch_report import Pace, SwitchQuestion, SwitchReport
from orchestrator.extensions.workbench.turn_sample import (
    MOST_DAYS,
    SWITCH_COMPARE,
    SWITCH_SAMPLE,
    SampleRequest,
    TurnSample,
)
from orchestrator.settings import Settings
from thinker.protocol.providers import split_reference

LISTED = 20  # differences
JUDGING = 3600.0  # seconds for all judgements of a model
HEADINGS = {
    "effect": "effects",
    "stopped": "stopped",
    "calls": "calls",
    "text": "text",
    "length": "length",
}

app = make_command_group()


@dataclass(frozen=True, kw_only=True)
class SwitchOptions:
    """What `try` tries, on what, and whom it may tell."""

    model: Annotated[str, typer.Option(help="The model to try: its name, or PROVIDER/MODEL.")] = ""
    agent: Annotated[str, typer.Option(help="Id of the agent (default: the only one).")] = ""
    last: Annotated[
        str, typer.Option(metavar="DAYS", help="Choose among turns of so many days.")
    ] = "7d"
    turns: Annotated[int, typer.Option(min=1, max=MAX_TURNS, help="Turns to try.")] = 40
    limit: Annotated[
        float | None, typer.Option(min=0.000001, help="The most to spend, in dollars.")
    ] = None
    limit_tokens: Annotated[int | None, typer.Option(min=1, help="The same, in tokens.")] = None
    judge: Annotated[
        str, typer.Option(help="A model that compares the answers, without knowing which is which.")
    ] = ""
    confirm: Annotated[
        str, typer.Option(help="A provider that may see these messages for the first time.")
    ] = ""


def try_model(
    *,
    chosen: SwitchOptions,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Try another model on recorded turns.

    Shows what it did otherwise, and what a week would cost. The turns are of every day and kind,
    and the dearest among them. Nothing has effects: calls get their recorded results, and a call
    without one stops its turn.
    """
    if not chosen.model:
        raise typer.BadParameter("name the model to try", param_hint="--model")
    settings = load_settings(home)
    agent = _find_agent(load_agents(settings), chosen.agent)
    sample, request = _choose_turns(settings, agent, chosen)
    older = f"; {sample.older} older ones lack what a trial needs" if sample.older else ""
    of = format_count(sample.of, "turn")
    print_text(f"{len(sample.turns)} of {of} of {agent.agent_id}{older}", err=as_json)
    trial = run_trial(settings, request, yes=yes, quiet=as_json)
    judge = chosen.judge and _complete_name(chosen.judge, agent)
    asked = SwitchQuestion(id=trial.id, judge=judge, confirmed=chosen.confirm)
    report = anyio.run(_compare, settings, asked)
    if as_json:
        print_json(report)
    else:
        _print_report(report, agent)
    if trial.state != "done":
        go_on = f"go on with: orchestrator trial go-on {trial.id}"
        raise OrchestratorError(f"the trial stopped: {trial.note}; {go_on}")


app.command("try")(spread_options(try_model))


def _choose_turns(
    settings: Settings, agent: AgentDefinition, chosen: SwitchOptions
) -> tuple[TurnSample, TrialRequest]:
    """Return the turns to try the model on, and the trial of it."""
    asked = SampleRequest(
        agent_id=agent.agent_id, days=_parse_days(chosen.last), turns=chosen.turns
    )
    sample = ask_daemon(settings, SWITCH_SAMPLE, asked, TurnSample)
    model = _complete_name(chosen.model, agent)
    request = TrialRequest(
        turns=sample.turns,
        change=TrialChange(model=model),
        kind="switch",
        limit_usd=chosen.limit,
        limit_tokens=chosen.limit_tokens,
        confirmed=chosen.confirm,
    )
    return sample, request


async def _compare(settings: Settings, asked: SwitchQuestion) -> SwitchReport:
    seconds = JUDGING if asked.judge else ANSWER_SECONDS
    async with connect_to_daemon(settings) as peer:
        return await peer.call(SWITCH_COMPARE, asked, SwitchReport, timeout=seconds)


def _complete_name(model: str, agent: AgentDefinition) -> str:
    """Return ``provider/model``, of the agent's own provider unless it is named."""
    return "/".join(split_reference(model, agent.llm_provider, agent.providers))


def _find_agent(file: AgentsFile, name: str) -> AgentDefinition:
    known = [agent.agent_id for agent in file.agents]
    if not name and len(known) != 1:
        raise UnknownAgentError(f"name the agent with --agent: {join_names(known)}")
    found = file.find_agent(name or known[0])
    if found is None:
        raise UnknownAgentError(f"unknown agent {name!r}; agents.json has {join_names(known)}")
    return found


def _parse_days(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)d?", text)
    days = float(found[1]) if found else 0.0
    if not 0 < days <= MOST_DAYS:
        raise typer.BadParameter(
            f"write days, such as 7d, at most {MOST_DAYS}", param_hint="--last"
        )
    return days


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
        "judged": "judged",
    }
    print_records("Differences", shown, columns)
    if len(report.differences) > LISTED:
        print_text(f"and {len(report.differences) - LISTED} more; --json has all of them")
    print_records("Calls", report.shifts, {"recorded": "before", "tried": "after", "runs": "runs"})
    if report.judged:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in report.judged.items())
        print_text(f"judged answers: {counts}")
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
