"""Tables in Markdown, for generated pages."""

from collections.abc import Iterator, Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return a Markdown table."""
    if rows:
        yield f"| {' | '.join(head)} |"
        yield "|---" * len(head) + "|"
        for row in rows:
            cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
            yield f"| {' | '.join(cells)} |"
        yield ""
