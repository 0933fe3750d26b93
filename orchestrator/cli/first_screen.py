"""The first screen: all commands by group, and examples, within 80 by 24 characters."""

from collections.abc import Iterator
from textwrap import fill

from orchestrator.cli import EXAMPLES
from orchestrator.cli.commands import group_commands
from orchestrator.cli.output import write_line
from orchestrator.errors import ExitCode

WIDTH = 79  # columns of a terminal of 80 that a line fills


def print_first_screen() -> int:
    """Print the screen and return the exit code."""
    write_line(render_first_screen())
    return ExitCode.OK


def render_first_screen() -> str:
    """Render the screen as ``orchestrator --help`` prints it."""
    return "\n".join(_render_lines())


def _render_lines() -> Iterator[str]:
    yield "Usage: orchestrator COMMAND [ARGUMENTS] [OPTIONS]\n"
    groups = {title: names for title, names in group_commands().items() if names}
    column = max(map(len, groups)) + 2
    for title, names in groups.items():
        yield fill(
            ", ".join(names),
            WIDTH,
            initial_indent=f"{title:{column}}",
            subsequent_indent=" " * column,
        )
    yield ""
    known = {name for names in groups.values() for name in names}
    examples = {line: text for line, text in EXAMPLES.items() if line.split()[1] in known}
    column = max(map(len, examples)) + 2
    for line, text in examples.items():
        yield f"  {line:{column}}{text}"
    yield ""
    yield "orchestrator COMMAND -h explains a command, orchestrator help lists the manual,"
    yield "orchestrator help exit-codes the exit codes. --version prints the version."
