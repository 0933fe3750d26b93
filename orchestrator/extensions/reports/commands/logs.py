"""``orchestrator logs``."""

import logging
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import Home, LogLevel, load_settings
from orchestrator.cli.output import get_screen_size, make_printable
from orchestrator.errors import ExitCode
from orchestrator.extensions.reports.log_reader import find_log
from orchestrator.extensions.reports.log_relay import parse_event
from thinker.protocol.folded_lines import fold_lines
from thinker.protocol.log_sentences import INDENT, format_sentence, is_color_wanted

LINES = 100
CLOCK = "%b %d %H:%M:%S"
LEVELS = logging.getLevelNamesMapping()

app = make_command_group()


@dataclass(frozen=True)
class _View:
    """Which lines are shown, and in what form."""

    agent: str | None
    level: str | None
    as_json: bool
    colored: bool

    def render_line(self, line: bytes) -> str | None:
        """Return the printed form of a line; None if it is filtered out."""
        event = parse_event(line)
        text = line.decode("utf-8", "replace").rstrip("\n")
        if event is None:  # such as a line of a traceback
            chosen = self.as_json or self.agent or self.level
            return None if chosen else make_printable(text)
        rank = LEVELS.get(str(event.get("level")).upper(), logging.INFO)
        hidden = self.level is not None and rank < LEVELS[self.level.upper()]
        if hidden or (self.agent is not None and event.get("agent_id") != self.agent):
            return None
        return text if self.as_json else format_sentence(event, colored=self.colored, clock=CLOCK)

    def render_lines(self, lines: Iterator[bytes]) -> Iterator[str]:
        return (shown for line in lines if (shown := self.render_line(line)) is not None)


@app.command()
def logs(
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Show new lines as they arrive, until Ctrl-C.")
    ] = False,
    lines: Annotated[
        int, typer.Option("--lines", "-n", metavar="N", help="Number of last lines to show.", min=0)
    ] = LINES,
    agent: Annotated[
        str | None, typer.Option(metavar="AGENT", help="Show only events of this agent.")
    ] = None,
    level: Annotated[
        LogLevel | None, typer.Option(help="Show only events of this level and above.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each event as a line of JSON.")
    ] = False,
    home: Home = None,
) -> None:
    """Show the daemon's log, or follow it.

    The lines come from the home's log file or from systemd's journal; no running daemon is needed.
    Times are local, except in JSON.
    """
    source = find_log(load_settings(home))
    colored = sys.stdout.isatty() and is_color_wanted()
    view = _View(agent, level, as_json, colored)
    wrap = sys.stdout.isatty() and not as_json
    try:
        last = deque(view.render_lines(source.iter_kept_lines()), maxlen=lines)
        for shown in last:
            typer.echo(_fit_line(shown) if wrap else shown)
        if follow:
            for shown in view.render_lines(source.follow_lines()):
                typer.echo(_fit_line(shown) if wrap else shown)
        elif not last and lines:
            typer.echo(f"no matching lines{f' of agent {agent!r}' if agent else ''}", err=True)
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _fit_line(line: str) -> str:
    return fold_lines(line, get_screen_size()[0], INDENT)
