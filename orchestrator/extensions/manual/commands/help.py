"""``orchestrator help``."""

import re
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pydoc import pager
from typing import Annotated

import typer

from orchestrator.cli.commands import find_command, import_app, list_commands, make_command_group
from orchestrator.cli.output import fold_page, get_screen_size, write_line
from orchestrator.cli.tables import get_terminal_width, render_table
from orchestrator.manual import ManualHit, ManualIndex, load_manual, split_sections

SENTENCE = re.compile(r"(?<=[.!?])\s")
ADVICE = "orchestrator help PAGE prints a page, orchestrator help 'HEADING' one section."

app = make_command_group()


@app.command("help")
def show_topic(
    topic: Annotated[
        list[str] | None,
        typer.Argument(metavar="TOPIC", help="A page, a command, or words."),
    ] = None,
) -> None:
    """Print a page of the manual, or search all pages.

    A command's name prints its help, a heading its section; other words are searched for in all
    pages, commands and settings. Agents read the pages with read_skill.
    """
    pages = load_manual(partial(write_line, err=True))
    if topic is None:
        rows = [(name, extract_first_sentence(text)) for name, text in pages.items()]
        for line in render_table(("page", "what it tells"), rows, get_terminal_width()):
            write_line(line)
        write_line("\norchestrator help TOPIC prints a page, explains a command, or searches.")
        return
    question = " ".join(topic).strip()
    text = pages.get(question.removesuffix(".md"))
    command = find_command(question)
    if text is None and command is not None:
        import_app(command)(["--help"], prog_name=f"orchestrator {question}")
    page, _, heading = question.partition(": ")  # as a search prints what it found
    section = _find_section(heading, {page: pages[page]}) if heading and page in pages else None
    _print_page(text or section or _find_section(question, pages) or _search_pages(question, pages))


def _find_section(heading: str, pages: Mapping[str, str]) -> str:
    """Return the section with this heading, if there is exactly one; else an empty text."""
    wanted = _fold_heading(heading)
    found = [
        (name, part)
        for name, text in pages.items()
        for title, part in split_sections(text).items()
        if _fold_heading(title) == wanted
    ]
    if len(found) != 1:
        return ""
    name, part = found[0]
    return f"From the page {name!r}:\n\n{part.rstrip()}\n"


def _search_pages(question: str, pages: Mapping[str, str]) -> str:
    """Return what a search finds, as a list.

    Raises:
        BadParameter: nothing has any of the words.
    """
    found = ManualIndex(pages).search(question)
    if found:
        return _render_hits(question, found)
    near = get_close_matches(question, [*pages, *list_commands()], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "orchestrator help lists the topics"
    raise typer.BadParameter(f"no topic {question!r}; {hint}", param_hint="TOPIC")


def _render_hits(question: str, found: Sequence[ManualHit]) -> str:
    lines = [f"Sections about {question!r}:"]
    for hit in found:
        lines += [f"  orchestrator help {hit.page}: {hit.heading}", f"      {hit.passage}"]
    return "\n".join((*lines, "", ADVICE, ""))


def _fold_heading(text: str) -> str:
    return text.lower().replace("`", "")


def _print_page(text: str) -> None:
    """Print a page, folded and paged on a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    width, lines = get_screen_size()
    shown = fold_page(text, width)
    if shown.count("\n") < lines:
        sys.stdout.write(shown)
    else:
        pager(shown)


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of a Markdown page below its heading."""
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        if line and not line.startswith(("#", "<!--")):
            return SENTENCE.split(line, maxsplit=1)[0]
    return ""
