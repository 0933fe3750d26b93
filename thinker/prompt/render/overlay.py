"""Combine sections by id, for step 3.

A section above replaces the section below with the same id. Tool tables are joined instead; rows
below win, because their author wrote them by hand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

from thinker.prompt.render.sections import Section, ToolRow, ToolTable


def overlay_sections(
    below: Sequence[Section], above: Iterable[Section], order: Sequence[str] = ()
) -> tuple[Section, ...]:
    """Combine two sequences of sections; ``order`` places new ids, by default at the end."""
    sections = list(below)
    for section in above:
        at = next((i for i, old in enumerate(sections) if old.id == section.id), None)
        if at is None:
            sections.insert(_find_position(sections, section.id, order), section)
        else:
            attached = takewhile(lambda old: old.attached, sections[at + 1 :])
            sections[at : at + 1 + len(list(attached))] = [_join_sections(sections[at], section)]
    return tuple(sections)


def drop_repeated_rows(rows: Iterable[ToolRow]) -> tuple[ToolRow, ...]:
    """Return the first row of each name, in order."""
    found: dict[str, ToolRow] = {}
    for row in rows:
        found.setdefault(row.name, row)
    return tuple(found.values())


def _join_sections(old: Section, new: Section) -> Section:
    if isinstance(old.body, ToolTable) and isinstance(new.body, ToolTable):
        return replace(old, body=ToolTable(drop_repeated_rows((*old.body.rows, *new.body.rows))))
    return new


def _find_position(sections: Sequence[Section], name: str, order: Sequence[str]) -> int:
    later = order[order.index(name) + 1 :] if name in order else ()
    return next((i for i, old in enumerate(sections) if old.id in later), len(sections))
