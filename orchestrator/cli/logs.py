"""``orchestrator logs``."""

import logging
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.cli._options import Home, LogLevel, command_group, load_settings
from orchestrator.cli._output import printable
from orchestrator.cli._prose import screen
from orchestrator.errors import ExitCode
from orchestrator.system.log_reader import log_of
from orchestrator.system.log_relay import as_event
from thinker.protocol.folded_lines import fold
from thinker.protocol.log_sentences import INDENT, colors_wanted, sentence

LINES = 100
CLOCK = "%b %d %H:%M:%S"
LEVELS = logging.getLevelNamesMapping()

app = command_group()


@dataclass(frozen=True)
class _View:
    """Which lines are shown, and how."""

    agent: str | None
    level: str | None
    as_json: bool
    colored: bool

    def of(self, line: bytes) -> str | None:
        """Return how a line is shown; None if it is not."""
        event = as_event(line)
        text = line.decode("utf-8", "replace").rstrip("\n")
        if event is None:  # such as a line of a traceback
            chosen = self.as_json or self.agent or self.level
            return None if chosen else printable(text)
        rank = LEVELS.get(str(event.get("level")).upper(), logging.INFO)
        hidden = self.level is not None and rank < LEVELS[self.level.upper()]
        if hidden or (self.agent is not None and event.get("agent_id") != self.agent):
            return None
        return text if self.as_json else sentence(event, colored=self.colored, clock=CLOCK)

    def every(self, lines: Iterator[bytes]) -> Iterator[str]:
        return (shown for line in lines if (shown := self.of(line)) is not None)


@app.command()
def logs(
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new lines as they come, until Ctrl-C.")
    ] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", metavar="N", help="How many of the last lines.", min=0)
    ] = LINES,
    agent: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Only events of this agent.")
    ] = None,
    level: Annotated[
        LogLevel | None, typer.Option(help="Only events of this level and above.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each event as a line of JSON.")
    ] = False,
    home: Home = None,
) -> None:
    """Show what the daemon logged, and follow it.

    The lines are those of the home's file, or of systemd's journal. No running daemon is needed.
    Times are local, except in JSON.
    """
    source = log_of(load_settings(home))
    colored = sys.stdout.isatty() and colors_wanted()
    view = _View(agent, level, as_json, colored)
    wrap = sys.stdout.isatty() and not as_json
    try:
        last = deque(view.every(source.kept()), maxlen=lines)
        for shown in last:
            typer.echo(_fitting(shown) if wrap else shown)
        if follow:
            for shown in view.every(source.coming()):
                typer.echo(_fitting(shown) if wrap else shown)
        elif not last and lines:
            typer.echo(f"no such line{f' of agent {agent!r}' if agent else ''} is kept", err=True)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _fitting(line: str) -> str:
    return fold(line, screen()[0], INDENT)
