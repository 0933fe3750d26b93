"""Plots as SVG attributes, without scripts or styles; the values of each are shown next to it.

Places along the width are shares of it, so a plot is as wide as its box and its texts keep their
size.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import htpy as h

from orchestrator.extensions.page.html.outside_text import show_hidden_characters

HEIGHT = 200  # of a plot, in pixels
KINDS = 5  # classes of colours, bar0 …; further series share the last
TOP, BOTTOM = 12, 22  # room above the highest value, and for the labels below
TICKS = 4  # at most, beside zero
MAX_LABELS = 6  # days that are named below a plot


class Column(NamedTuple):
    """A column of stacked parts, bottom first."""

    label: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


class Plot(NamedTuple):
    """Stacked columns; ``limit`` is a line across them, and ``format_value`` writes amounts."""

    columns: Sequence[Column]
    series: Sequence[str]
    label: str
    format_value: Callable[[float], str]
    limit: float | None = None


def render_sparkline(
    values: Sequence[float], label: str, *, width: int = 240, height: int = 40
) -> h.Element:
    """Render a small column for each value, in a box of ``width`` by ``height`` pixels."""
    most, step = max(values, default=0) or 1, width / max(1, len(values))
    return h.svg(
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
        aria_label=label,
        class_="spark",
    )[
        h.title[label],
        h.line(class_="axis", x1="0", x2=str(width), y1=str(height - 0.5), y2=str(height - 0.5)),
        (
            h.rect(
                class_="bar0",
                x=f"{index * step:.1f}",
                y=f"{height - size:.1f}",
                width=f"{max(1.0, step - 1):.1f}",
                height=f"{size:.1f}",
            )
            for index, value in enumerate(values)
            if value and (size := max(2.0, (height - 2) * value / most))
        ),
    ]


def render_share_bar(part: float, label: str, *, width: int = 100) -> h.Element:
    """Render a bar, ``width`` pixels wide, of which ``part`` from 0 to 1 is filled."""
    filled = width * min(1.0, max(0.0, part))
    kind = "full" if part >= 1 else "bar0"
    return h.svg(
        viewBox=f"0 0 {width} 6",
        width=str(width),
        height="6",
        role="img",
        aria_label=label,
        class_="share",
    )[
        h.rect(class_="track", x="0", y="0", width=str(width), height="6", rx="3"),
        h.rect(class_=kind, x="0", y="0", width=f"{filled:.1f}", height="6", rx="3"),
    ]


def render_plot(plot: Plot) -> h.Element:
    """Render stacked columns with an axis of round values."""
    most = max((column.total for column in plot.columns), default=0.0)
    ticks = choose_ticks(max(most, plot.limit or 0.0))
    highest = max(most, plot.limit or 0.0) or 1.0

    def scale_y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / highest)

    return h.div(class_="plot")[
        h.svg(width="100%", height=str(HEIGHT), aria_hidden="true")[
            (
                h.text(x="100%", y=f"{scale_y(value) + 4:.1f}", text_anchor="end")[
                    plot.format_value(value)
                ]
                for value in ticks
            )
        ],
        h.svg(width="100%", height=str(HEIGHT), role="img", aria_label=plot.label)[
            (_render_level(scale_y(value), "axis") for value in ticks),
            list(_render_columns(plot, scale_y)),
            None if plot.limit is None else _render_level(scale_y(plot.limit), "limit"),
        ],
    ]


def render_legend(names: Sequence[str]) -> h.Element:
    """Render the color of each series with its name."""
    return h.ul(class_="legend")[
        (
            h.li[_render_swatch(get_series_class(index)), show_hidden_characters(name)]
            for index, name in enumerate(names)
        )
    ]


def render_kinds(kinds: Mapping[str, str]) -> h.Element:
    """Render the color of each class with what it stands for."""
    return h.ul(class_="legend")[
        (h.li[_render_swatch(kind), words] for kind, words in kinds.items())
    ]


def choose_ticks(most: float, count: int = TICKS) -> list[float]:
    """Return round values from 0 to at most ``most``; their distance is 1, 2 or 5 times a power."""
    if most <= 0:
        return [0.0]
    rough = most / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * part for part in (1, 2, 5, 10) if power * part >= rough * (1 - 1e-9))
    return [step * number for number in range(int(most / step + 1e-9) + 1)]


def get_series_class(index: int) -> str:
    """Return the CSS class of a series."""
    return f"bar{min(index, KINDS - 1)}"


def _render_swatch(kind: str) -> h.Element:
    return h.svg(width="10", height="10", viewBox="0 0 10 10", aria_hidden="true")[
        h.rect(class_=kind, width="10", height="10", rx="2")
    ]


def _render_level(y: float, kind: str) -> h.Element:
    return h.line(class_=kind, x1="0", x2="100%", y1=f"{y:.1f}", y2=f"{y:.1f}")


def _render_columns(plot: Plot, scale_y: Callable[[float], float]) -> Iterator[h.Element]:
    step = 100 / max(1, len(plot.columns))
    every = math.ceil(len(plot.columns) / MAX_LABELS)
    for index, column in enumerate(plot.columns):
        x = index * step
        yield h.g[
            h.title[_describe_column(column, plot.format_value)],
            # The whole column answers to the pointer, not only what is drawn.
            _render_box("hit", x, step, (TOP, scale_y(0))),
            list(_render_stack(column, plot.series, x, step, scale_y)),
        ]
        if index % every == 0:
            yield h.text(x=f"{x:.2f}%", y=str(HEIGHT - 6))[column.label]


def _render_stack(
    column: Column,
    series: Sequence[str],
    x: float,
    step: float,
    scale_y: Callable[[float], float],
) -> Iterator[h.Element]:
    below = 0.0
    for index, name in enumerate(series):
        value = column.parts.get(name, 0.0)
        if value > 0:
            edges = scale_y(below + value), scale_y(below)
            yield _render_box(get_series_class(index), x + step * 0.1, step * 0.8, edges)
            below += value


def _render_box(kind: str, x: float, width: float, edges: tuple[float, float]) -> h.Element:
    top, bottom = edges
    return h.rect(
        class_=kind,
        x=f"{x:.2f}%",
        width=f"{width:.2f}%",
        y=f"{top:.1f}",
        height=f"{max(0.0, bottom - top):.1f}",
    )


def _describe_column(column: Column, format_value: Callable[[float], str]) -> str:
    parts = ", ".join(
        f"{show_hidden_characters(name)} {format_value(value)}"
        for name, value in column.parts.items()
        if value > 0
    )
    return f"{column.label}: {parts or format_value(0.0)}"
