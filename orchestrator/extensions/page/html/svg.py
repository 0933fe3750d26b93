"""Plots as SVG attributes, without scripts or styles; the values of each are shown next to it."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.extensions.page.html.outside_text import show_hidden_characters

WIDTH, HEIGHT = 720, 180  # of a plot, in units that the browser scales
KINDS = 5  # classes of colours, bar0 …; further series share the last
BOTTOM, LEFT = 22, 58  # room for labels


class Column(NamedTuple):
    """A column of stacked parts, bottom first."""

    label: str
    parts: Mapping[str, float]


def render_sparkline(values: Sequence[int], label: str) -> h.Element:
    """Render a small column for each value."""
    most, width = max(values, default=0) or 1, 240 / max(1, len(values))
    return h.svg(viewBox="0 0 240 40", width="240", height="40", role="img", aria_label=label)[
        (
            h.rect(
                class_="bar0",
                x=f"{index * width:.1f}",
                y=f"{40 - 38 * value / most:.1f}",
                width=f"{max(1.0, width - 1):.1f}",
                height=f"{38 * value / most:.1f}",
            )
            for index, value in enumerate(values)
            if value
        )
    ]


def render_share_bar(part: float, label: str) -> h.Element:
    """Render a bar of which ``part``, from 0 to 1, is filled."""
    filled = 100 * min(1.0, max(0.0, part))
    return h.svg(viewBox="0 0 100 8", width="100", height="8", role="img", aria_label=label)[
        h.rect(class_="bar4", x="0", y="3", width="100", height="2", opacity="0.4"),
        h.rect(class_="bar0", x="0", y="0", width=f"{filled:.1f}", height="8"),
    ]


def render_columns(found: Sequence[Column], series: Sequence[str], label: str) -> h.Element:
    """Render stacked columns with an axis."""
    most = max((sum(column.parts.values()) for column in found), default=0.0) or 1.0
    step = (WIDTH - LEFT) / max(1, len(found))
    height = HEIGHT - BOTTOM - 10

    def scale_y(value: float) -> float:
        return 10 + height * (1 - value / most)

    every = max(1, len(found) // 10)
    return h.svg(viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)[
        h.line(
            class_="axis",
            x1=str(LEFT),
            x2=str(WIDTH),
            y1=f"{scale_y(0):.1f}",
            y2=f"{scale_y(0):.1f}",
        ),
        (_render_axis_mark(value, scale_y(value)) for value in (0.0, most / 2, most)),
        (
            _render_stack(column, series, LEFT + index * step, step, scale_y)
            for index, column in enumerate(found)
        ),
        (
            h.text(x=f"{LEFT + index * step:.1f}", y=str(HEIGHT - 6))[column.label]
            for index, column in enumerate(found)
            if index % every == 0
        ),
    ]


def get_series_class(index: int) -> str:
    """Return the CSS class of a series."""
    return f"bar{min(index, KINDS - 1)}"


def _render_axis_mark(value: float, y: float) -> h.Element:
    return h.text(x="0", y=f"{y + 4:.1f}")[f"{value:,.3g}"]


def _render_stack(
    column: Column, series: Sequence[str], x: float, step: float, y: Callable[[float], float]
) -> list[h.Element]:
    drawn, below = [], 0.0
    for index, name in enumerate(series):
        value = column.parts.get(name, 0.0)
        if value > 0:
            top, bottom = y(below + value), y(below)
            drawn.append(
                h.rect(
                    class_=get_series_class(index),
                    x=f"{x + 1:.1f}",
                    y=f"{top:.1f}",
                    width=f"{max(1.0, step - 2):.1f}",
                    height=f"{bottom - top:.1f}",
                )[h.title[f"{column.label} {show_hidden_characters(name)}: {value:,.4g}"]]
            )
            below += value
    return drawn
