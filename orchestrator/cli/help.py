"""``orchestrator help``."""

import re
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import COMMANDS
from orchestrator.cli._columns import rendered, terminal_width
from orchestrator.cli._group import command_group
from orchestrator.settings import bundled

MANUAL = Path("orchestrator-guide", "references")  # below the bundled skills
SENTENCE = re.compile(r"(?<=[.!?])\s")

app = command_group()


@app.command("help")
def show(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="A page of the manual, or a command.")
    ] = None,
) -> None:
    """Print a page of the manual, or the list of its pages.

    The name of a command prints the help of that command. Agents read the same pages with
    read_skill, as files of the skill orchestrator-guide.
    """
    folder = bundled("skills") / MANUAL
    pages = {path.stem: path for path in sorted(folder.glob("*.md"))}
    if topic is None:
        rows = [(name, first_sentence(path.read_text("utf-8"))) for name, path in pages.items()]
        for line in rendered(("page", "what it tells"), rows, terminal_width()):
            typer.echo(line)
        typer.echo("\norchestrator help TOPIC prints a page, or explains a command.")
        return
    page = pages.get(topic.removesuffix(".md"))
    if page is None and topic in COMMANDS:
        command = import_module(f"orchestrator.cli.{topic}").app
        command(["--help"], prog_name=f"orchestrator {topic}")
    if page is None:
        near = get_close_matches(topic, [*pages, *COMMANDS], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "orchestrator help lists the topics"
        raise typer.BadParameter(f"no topic {topic!r}; {hint}", param_hint="TOPIC")
    typer.echo(page.read_text("utf-8"), nl=False)


def first_sentence(text: str) -> str:
    """Return the first sentence of a Markdown page below its heading."""
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        if line and not line.startswith(("#", "<!--")):
            return SENTENCE.split(line, maxsplit=1)[0]
    return ""
