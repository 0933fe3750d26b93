"""Collect the table "Where to look" of the architecture page from module docstrings."""

import ast
from collections.abc import Iterator
from pathlib import Path

from markdowntable import table

ROOT = Path(__file__).parent.parent
MARK = "Where: "  # begins a question in the docstring of the module that answers it
HEADING = "## Where to look\n"


def questions() -> Iterator[tuple[str, str]]:
    """Yield each question with the path of the module that answers it."""
    for folder in ("orchestrator", "thinker"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
            for line in text.splitlines():
                if line.startswith(MARK):
                    yield line.removeprefix(MARK), str(path.relative_to(ROOT))


def replace_index(page: str) -> str:
    """Return the architecture page with the present table."""
    before, heading, rest = page.partition(HEADING)
    _, next_heading, after = rest.partition("\n## ")
    rows = [(f"Where {question}", f"`{path}`") for question, path in questions()]
    about = (
        "Each row is a line `Where: …` of its module's docstring. `scripts/reference` writes them."
    )
    lines = ("", about, "", *table(("question", "file"), rows))
    return before + heading + "\n".join(lines).rstrip() + "\n" + next_heading + after
