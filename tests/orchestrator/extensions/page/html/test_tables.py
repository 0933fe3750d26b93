"""Tables of the page."""

from collections.abc import Iterator

import htpy as h

from orchestrator.extensions.page.html.tables import render_table


def test_rows_are_read_while_they_are_drawn() -> None:
    """Of a large table, the cells of one row are in memory."""
    read = list[int]()

    def iter_rows() -> Iterator[tuple[str]]:
        for number in range(3):
            read.append(number)
            yield (f"row {number}",)

    table = render_table("Numbers", ("Number",), iter_rows())
    assert isinstance(table, h.Element)
    drawn = [list(read) for chunk in table.iter_chunks() if chunk.startswith("row ")]
    assert drawn == [[0], [0, 1], [0, 1, 2]]
