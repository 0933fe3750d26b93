"""``orchestrator help``."""

import re
import sys
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from pydoc import pager
from typing import Annotated

import typer

from orchestrator.cli.commands import (
    find_command,
    import_app,
    list_commands,
    make_command_group,
)
from orchestrator.cli.output import fold_page, get_screen_size
from orchestrator.cli.tables import get_terminal_width, render_table
from orchestrator.errors import FAULTS, describe_fault
from orchestrator.home_paths import find_bundled_path
from orchestrator.installed import find_installed

MANUAL = Path("orchestrator-guide", "references")  # below the bundled skills
SENTENCE = re.compile(r"(?<=[.!?])\s")

app = make_command_group()


@app.command("help")
def show_topic(
    topic: Annotated[
        str | None, typer.Argument(metavar="TOPIC", help="A page of the manual, or a command.")
    ] = None,
) -> None:
    """Print a page of the manual, or the list of its pages.

    A command's name prints its help; any other word prints the section with that word in its
    heading, or a list of such sections. Agents read the same pages with read_skill, as files of the
    skill orchestrator-guide.
    """
    pages = load_manual()
    if topic is None:
        rows = [(name, extract_first_sentence(text)) for name, text in pages.items()]
        for line in render_table(("page", "what it tells"), rows, get_terminal_width()):
            typer.echo(line)
        typer.echo("\norchestrator help TOPIC prints a page or explains a command.")
        return
    text = pages.get(topic.removesuffix(".md"))
    command = find_command(topic)
    if text is None and command is not None:
        import_app(command)(["--help"], prog_name=f"orchestrator {topic}")
    if text is None:
        text = _find_section(topic, pages)
    _print_page(text)


def load_manual() -> Mapping[str, str]:
    """Return the manual's pages, keyed by name: the bundled ones and those of extensions."""
    bundled = (find_bundled_path("skills") / MANUAL).glob("*.md")
    pages = {file.stem: file.read_text("utf-8") for file in bundled}
    for extension in find_installed().every():
        try:
            added = {file.stem: file.read_text("utf-8") for file in extension.list_manual_pages()}
        except FAULTS as error:
            text = f"extension '{extension.name}' has no readable pages: {describe_fault(error)}"
            typer.echo(text, err=True)
            continue
        pages = {**added, **pages}
    return dict(sorted(pages.items()))


def split_sections(text: str) -> Mapping[str, str]:
    """Return the sections of a page, keyed by heading; code is left whole."""
    parts = re.split(r"(?m)^(?=## )", text)[1:]
    return {part.partition("\n")[0].removeprefix("## "): part for part in parts}


def _find_section(topic: str, pages: Mapping[str, str]) -> str:
    """Return the section with a word in its heading, or the list of these."""
    word = topic.strip().lower()
    found = [
        (name, heading, part)
        for name, text in pages.items()
        for heading, part in split_sections(text).items()
        if word and word in heading.lower().replace("`", "")
    ]
    exact = [one for one in found if one[1].lower() == word]
    if len(chosen := exact or found) == 1:
        name, _, part = chosen[0]
        return f"From the page {name!r}:\n\n{part.rstrip()}\n"
    if found:
        lines = [f"  orchestrator help {name}: {heading}" for name, heading, _ in found]
        return "\n".join((f"Sections about {topic!r}:", *lines, ""))
    near = get_close_matches(topic, [*pages, *list_commands()], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "orchestrator help lists the topics"
    raise typer.BadParameter(f"no topic {topic!r}; {hint}", param_hint="TOPIC")


def _print_page(text: str) -> None:
    """Print a page, folded and paged on a terminal."""
    if not sys.stdout.isatty():
        typer.echo(text, nl=False)
        return
    width, lines = get_screen_size()
    shown = fold_page(text, width)
    if shown.count("\n") < lines:
        typer.echo(shown, nl=False)
    else:
        pager(shown)


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of a Markdown page below its heading."""
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        if line and not line.startswith(("#", "<!--")):
            return SENTENCE.split(line, maxsplit=1)[0]
    return ""
