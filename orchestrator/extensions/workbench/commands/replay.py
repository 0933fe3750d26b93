"""``orchestrator replay``: run a recorded turn again, without effects."""

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import anyio
import typer
from pydantic import TypeAdapter, ValidationError

from orchestrator.cli.client import ask_daemon, connect_to_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.tables import print_json
from orchestrator.control import trials
from orchestrator.control.daemon_answer import ANSWER_SECONDS
from orchestrator.control.trials import (
    TrialChange,
    TrialEstimate,
    TrialNumber,
    TrialReport,
    TrialRequest,
)
from orchestrator.errors import ExitCode, OrchestratorError
from orchestrator.extensions.workbench.commands.dry_output import replay_dry
from orchestrator.extensions.workbench.commands.option_groups import spread_options
from orchestrator.extensions.workbench.commands.trial_output import print_estimate, print_report
from orchestrator.settings import Settings
from thinker.formats.skill_file import FILE_NAME, SkillError, parse_skill
from thinker.protocol.messages import Effort

KEEP = "Keep so many recorded responses."
LOOK = 0.3  # seconds between two looks at a trial that runs
N = TypeVar("N", int, float)
EFFORT: TypeAdapter[Effort] = TypeAdapter(Effort)
app = make_command_group()


@dataclass(frozen=True)
class ChangeOptions:
    """What is changed of the turn, and the limits of the trial."""

    model: Annotated[str | None, typer.Option(help="Another model: PROVIDER/MODEL.")] = None
    effort: Annotated[
        str | None, typer.Option(help="off, low, medium, high or tokens of thought.")
    ] = None
    temperature: Annotated[
        float | None, typer.Option(min=0, max=2, metavar="NUMBER", help="Another temperature.")
    ] = None
    skill: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="A changed skill; repeatable.")
    ] = None
    prompt: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A changed definition or base prompt.")
    ] = None
    tools: Annotated[str, typer.Option(help="Add and remove: +a,-b.", show_default=False)] = ""
    first: Annotated[
        int,
        typer.Option("--from", min=0, metavar="STEP", help=KEEP, show_default=False),
    ] = 0
    times: Annotated[
        int, typer.Option(min=1, max=trials.MAX_TIMES, metavar="N", help="Runs, 1 to 5.")
    ] = 1
    as_made: Annotated[
        Literal["recorded", "today"],
        typer.Option("--as", metavar="WHEN", help="The prompt: recorded or today."),
    ] = "recorded"
    unrecorded: Annotated[
        Literal["stop", "invent"],
        typer.Option(metavar="HOW", help="Calls without record: stop, invent."),
    ] = "stop"
    limit: Annotated[
        str, typer.Option(help="At most: 0.50 (dollars) or 5000t.", show_default=False)
    ] = ""

    def build_request(self, settings: Settings, turn: str) -> TrialRequest:
        """Return the request; raise `BadParameter` for what cannot be."""
        files, layers = read_files(settings, self.skill or (), self.prompt)
        added, removed = parse_tools(self.tools)
        usd, tokens = parse_limit(self.limit)
        change = TrialChange(
            model=self.model,
            temperature=self.temperature,
            effort=None if self.effort is None else _parse_effort(self.effort),
            files=files,
            layers=layers,
            add_tools=added,
            remove_tools=removed,
            as_today=self.as_made == "today",
            from_step=self.first,
        )
        return TrialRequest(
            turns=(turn,),
            change=change,
            times=self.times,
            unrecorded=self.unrecorded,
            limit_usd=usd,
            limit_tokens=tokens,
        )


@app.command()
@spread_options
def replay(
    turn: Annotated[str, typer.Argument(metavar="TURN", help="The end of a turn's id.")],
    *,
    chosen: ChangeOptions,
    dry: Annotated[bool, typer.Option("--dry", help="Call no model: compare bytes.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Start without asking.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Run a recorded turn again, without effects."""
    settings = load_settings(home)
    request = chosen.build_request(settings, turn)
    if dry:
        replay_dry(settings, turn, request.change, as_json=as_json)
        return
    report = run_trial(settings, request, yes=yes, quiet=as_json)
    print_json(report) if as_json else print_report(report)
    if report.state != "done":
        raise typer.Exit(ExitCode.FAILED)


def run_trial(
    settings: Settings, request: TrialRequest, *, yes: bool, quiet: bool = False
) -> TrialReport:
    """Show what a trial may cost, start it unless the person declines, and wait for its end.

    A provider that has seen none of these messages is asked about by its name.

    Raises:
        OrchestratorError: it cannot start; the message says why.
    """
    found = ask_daemon(settings, trials.TRIAL_ESTIMATE, request, TrialEstimate)
    if not quiet:
        print_estimate(found)
    if found.new_provider and not (yes or request.confirmed):
        named = typer.prompt(f"{found.problem}. Its name", err=quiet)
        if named != found.new_provider:
            raise OrchestratorError(f"{named!r} is not its name; nothing was sent")
        request = request.model_copy(update={"confirmed": named})
    elif found.problem:
        raise OrchestratorError(found.problem)
    elif not yes:
        typer.confirm("Start it?", abort=True, err=quiet)
    return anyio.run(_start_trial, settings, request)


async def _start_trial(settings: Settings, request: TrialRequest) -> TrialReport:
    async with connect_to_daemon(settings) as peer:
        report = await peer.call(trials.TRIAL_START, request, TrialReport, timeout=ANSWER_SECONDS)
        show = partial(peer.call, trials.TRIAL_SHOW, result=TrialReport, timeout=ANSWER_SECONDS)
        while report.state == "running":
            await anyio.sleep(LOOK)
            report = await show(TrialNumber(id=report.id, brief=True))
        return await show(TrialNumber(id=report.id))


def parse_limit(text: str) -> tuple[float | None, int | None]:
    """Return a limit in dollars, or in tokens with a ``t`` at its end.

    Raises:
        BadParameter: it is no number above 0.
    """
    if not text:
        return None, None
    try:
        if text.endswith("t"):
            tokens = int(text.removesuffix("t"))
            return None, _require_positive(tokens)
        return _require_positive(float(text.removeprefix("$"))), None
    except ValueError:
        advice = "write dollars such as 0.50, or tokens such as 5000t"
        raise typer.BadParameter(f"{text!r}: {advice}", param_hint="--limit") from None


def _require_positive(number: N) -> N:
    """Return a number above 0; raise `ValueError` for others."""
    if not 0 < number < math.inf:
        raise ValueError(number)
    return number


def parse_tools(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the tools to add and to remove of a list like ``+a,-b``.

    Raises:
        BadParameter: an entry begins with neither sign.
    """
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    wrong = [entry for entry in entries if entry[0] not in "+-" or not entry[1:]]
    if wrong:
        raise typer.BadParameter(f"{wrong[0]!r} is neither +TOOL nor -TOOL", param_hint="--tools")
    added = tuple(entry[1:] for entry in entries if entry[0] == "+")
    return added, tuple(entry[1:] for entry in entries if entry[0] == "-")


def _parse_effort(text: str) -> Effort:
    try:
        return EFFORT.validate_python(int(text) if text.isdecimal() else text)
    except ValidationError:
        advice = "write off, low, medium, high or a number of tokens"
        raise typer.BadParameter(f"{text!r}: {advice}", param_hint="--effort") from None


def read_files(
    settings: Settings, skills: "list[Path] | tuple[()]", prompt: Path | None
) -> tuple[dict[str, str], dict[str, str]]:
    """Return changed files by the names that editors use, and changed layers.

    Raises:
        BadParameter: a file cannot be read, or is no skill.
    """
    files, layers = dict[str, str](), dict[str, str]()
    for path in skills:
        text = _read_text(path, "--skill")
        try:
            folder = path.resolve().parent.name if path.name == FILE_NAME else path.stem
            name = parse_skill(text, folder).name
        except SkillError as error:
            raise typer.BadParameter(str(error), param_hint="--skill") from None
        files[f"skills/{name}/{FILE_NAME}"] = text
    if prompt is not None:
        text = _read_text(prompt, "--prompt")
        if (settings.paths.prompts / prompt.name).exists():
            files[f"prompts/{prompt.name}"] = text
        else:
            layers["base"] = text.rstrip("\n")
    return files, layers


def _read_text(path: Path, option: str) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{path}: {error}", param_hint=option) from None
