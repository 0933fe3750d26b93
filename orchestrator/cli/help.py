"""``orchestrator help``."""

import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from pydoc import pager
from typing import Annotated

import typer

from orchestrator.cli import COMMANDS
from orchestrator.cli._columns import rendered, terminal_width
from orchestrator.cli._group import command_group
from orchestrator.cli._prose import page, screen
from orchestrator.home_paths import bundled

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

    The name of a command prints the help of that command; another word prints the section that has
    it in its heading, or lists these. Agents read the same pages with read_skill, as files of the
    skill orchestrator-guide.
    """
    folder = bundled("skills") / MANUAL
    pages = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*.md"))}
    if topic is None:
        rows = [(name, first_sentence(text)) for name, text in pages.items()]
        for line in rendered(("page", "what it tells"), rows, terminal_width()):
            typer.echo(line)
        typer.echo("\norchestrator help TOPIC prints a page, or explains a command.")
        return
    text = pages.get(topic.removesuffix(".md"))
    if text is None and topic in COMMANDS:
        command = import_module(f"orchestrator.cli.{topic}").app
        command(["--help"], prog_name=f"orchestrator {topic}")
    if text is None:
        text = _found(topic, pages)
    _print(text)


def sections(text: str) -> Mapping[str, str]:
    """Return the sections of a page by their headings, code left whole."""
    parts = re.split(r"(?m)^(?=## )", text)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part for part in parts}


def _found(topic: str, pages: Mapping[str, str]) -> str:
    """Return the section with a word in its heading, or the list of these."""
    word = topic.strip().lower()
    found = [
        (name, heading, part)
        for name, text in pages.items()
        for heading, part in sections(text).items()
        if word and word in heading.lower().replace("`", "")
    ]
    exact = [one for one in found if one[1].lower() == word]
    if len(chosen := exact or found) == 1:
        name, _, part = chosen[0]
        return f"From the page {name!r}:\n\n{part.rstrip()}\n"
    if found:
        lines = [f"  orchestrator help {name}: {heading}" for name, heading, _ in found]
        return "\n".join((f"Sections about {topic!r}:", *lines, ""))
    near = get_close_matches(topic, [*pages, *COMMANDS], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "orchestrator help lists the topics"
    raise typer.BadParameter(f"no topic {topic!r}; {hint}", param_hint="TOPIC")


def _print(text: str) -> None:
    """Print a page; on a terminal fold it, and page what is longer than the screen."""
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    width, lines = screen()
    shown = page(text, width)
    if shown.count("\n") < lines:
        typer.echo(shown, nl=False)
    else:
        pager(shown)


def first_sentence(text: str) -> str:
    """Return the first sentence of a Markdown page below its heading."""
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        if line and not line.startswith(("#", "<!--")):
            return SENTENCE.split(line, maxsplit=1)[0]
    return ""
