"""``orchestrator selftest attacks``."""

import json
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import anyio
import typer

from orchestrator.cli.options import AsJson
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_table
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.extensions.selftest.attacks.run_attacks import (
    AttackResult,
    run_attacks,
    select_attacks,
)
from orchestrator.extensions.selftest.commands.dojo_attacks import try_agentdojo
from orchestrator.extensions.selftest.commands.long_command import (
    interrupt_on_sigterm,
    make_progress_bar,
)
from orchestrator.extensions.selftest.crash.scratch_place import find_memory_folder
from thinker.protocol import logs


def attacks(
    *,
    only: Annotated[
        str,
        typer.Option(help="Only attacks whose area or name matches this pattern."),
    ] = "",
    suite: Annotated[
        Literal["own", "agentdojo"],
        typer.Option(help="Attacks of our own, or AgentDojo's tasks and injections."),
    ] = "own",
    every: Annotated[
        bool, typer.Option("--all", help="All 949 pairs of AgentDojo, not a sample.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Attack a real daemon and report what was reached: nothing, if its defences hold.

    A model that obeys every text, a hostile MCP server, strangers in chats and programs on this
    machine try what the manual says is impossible. All servers are on loopback; your home is not
    touched.
    """
    logs.configure_logging("error")  # only errors may interrupt the report
    if suite == "agentdojo":
        if only:
            raise ConfigError("--only has no effect with --suite agentdojo; leave it out")
        try_agentdojo(every=every, as_json=as_json)
    if every:
        raise ConfigError("--all has no effect without --suite agentdojo; leave it out")
    try:
        tried = select_attacks(only)
    except re.error as error:
        raise ConfigError(f"--only: {only!r} is not a regular expression ({error})") from None
    if not tried:
        raise ConfigError(f"--only: no attack has {only!r} in its area or name")
    folder = Path(tempfile.mkdtemp(prefix="attacks-", dir=find_memory_folder()))
    interrupt_on_sigterm()
    results: list[AttackResult] = []

    async def run_selected() -> None:
        with make_progress_bar() as progress:
            bar = progress.add_task("attacks", total=len(tried))
            async for result in run_attacks(tried, folder):
                progress.advance(bar)
                results.append(result)

    try:
        anyio.run(run_selected)
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    finally:
        shutil.rmtree(folder)
    broke = [result for result in results if result.reached]
    if as_json:
        typer.echo(json.dumps([asdict(result) for result in results], indent=2))
    else:
        _show_results(results, broke)
    raise typer.Exit(ExitCode.FAILED if broke else ExitCode.OK)


def _show_results(results: list[AttackResult], broke: list[AttackResult]) -> None:
    tried = Counter(result.area for result in results)
    reached = Counter(result.area for result in broke)
    rows = ((area, count, count - reached[area], reached[area]) for area, count in tried.items())
    print_table("Attacks", ("area", "tried", "held", "succeeded"), rows)
    for result in broke:
        print_text(f"{result.area}: {result.name}: {result.reached}")
        print_text(f"  no defence: {result.defence}")
    typer.echo(f"{len(results)} attacks, {len(broke)} succeeded")
