"""``orchestrator selftest attacks``."""

import json
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import anyio
import typer

from orchestrator.attacks.run_attacks import AttackResult, chosen, run_attacks
from orchestrator.cli._long_command import end_by_sigterm, progress_bar
from orchestrator.cli._options import AsJson
from orchestrator.cli._prose import say
from orchestrator.cli._tables import table
from orchestrator.errors import ConfigError, ExitCode
from orchestrator.selftest.scratch_place import memory_folder
from thinker.protocol import logs


def attacks(
    *,
    only: Annotated[
        str, typer.Option(help="Run the attacks whose area or name has this regular expression.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Attack a real daemon and tell what was reached: nothing, if its defences hold.

    A model that obeys every text, a hostile MCP server, strangers in chats and programs on this
    machine try what the manual says is impossible. All servers are on loopback; your home is not
    touched.
    """
    logs.configure("error")  # only errors belong beside the report
    try:
        tried = chosen(only)
    except re.error as error:
        raise ConfigError(f"--only: {only!r} is not a regular expression ({error})") from None
    if not tried:
        raise ConfigError(f"--only: no attack has {only!r} in its area or name")
    folder = Path(tempfile.mkdtemp(prefix="attacks-", dir=memory_folder()))
    end_by_sigterm()
    results: list[AttackResult] = []

    async def run() -> None:
        with progress_bar() as progress:
            bar = progress.add_task("attacks", total=len(tried))
            async for result in run_attacks(tried, folder):
                progress.advance(bar)
                results.append(result)

    try:
        anyio.run(run)
    except KeyboardInterrupt:
        typer.echo("interrupted; results so far:", err=True)
    finally:
        shutil.rmtree(folder)
    broke = [result for result in results if result.reached]
    if as_json:
        typer.echo(json.dumps([asdict(result) for result in results], indent=2))
    else:
        _show(results, broke)
    raise typer.Exit(ExitCode.FAILED if broke else ExitCode.OK)


def _show(results: list[AttackResult], broke: list[AttackResult]) -> None:
    tried = Counter(result.area for result in results)
    reached = Counter(result.area for result in broke)
    rows = ((area, count, count - reached[area], reached[area]) for area, count in tried.items())
    table("Attacks", ("area", "tried", "held", "succeeded"), rows)
    for result in broke:
        say(f"{result.area}: {result.name}: {result.reached}")
        say(f"  no defence: {result.defence}")
    typer.echo(f"{len(results)} attacks, {len(broke)} succeeded")
