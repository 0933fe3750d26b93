"""A message as a waterfall."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, open_turn, planned
from fakes.screens import html, request

from orchestrator.extensions.page.reads import turn_timeline
from orchestrator.extensions.page.reads.turn_timeline import (
    TimelineBar,
    TimelineMark,
    TimelineStep,
    TurnTimeline,
)
from orchestrator.extensions.page.screens import waterfall
from thinker.protocol.degradations import Degradation

EVIL = '<script>alert(1)</script>\u202e" onload="x'


@pytest.fixture
def course(tmp_path: Path) -> Iterator[TurnTimeline]:
    """A turn whose texts and names are hostile."""
    with booted(tmp_path) as db:
        turn = open_turn(db, text=EVIL)
        planned(db, turn.id, EVIL, arguments={"x": EVIL})
        found = turn_timeline.find_turn_timeline(db, turn.id, 99)
        assert found is not None
        yield found._replace(problem=EVIL)


def test_texts_of_others_are_shown_and_do_nothing(course: TurnTimeline) -> None:
    """Names, arguments, problems."""
    page = html(waterfall.render_turn(request(), course).content)
    assert "<script" not in page
    assert 'onload="' not in page
    assert "⟦U+202E⟧" in page


def test_turn_says_what_it_did_without(course: TurnTimeline) -> None:
    """In the provider's words, which do nothing."""
    lacking = Degradation(kind="tool", subject="search", what="left out", words=EVIL)
    page = html(waterfall.render_turn(request(), course._replace(degraded=[lacking])).content)
    assert "answered with less here" in page
    assert "search left out" in page
    assert "<script" not in page


def test_failed_turn_leads_to_what_solves_it(course: TurnTimeline) -> None:
    """Without the command that would do the same."""
    problem = "GROQ_API_KEY is not set; then run: orchestrator reload"
    page = html(waterfall.render_turn(request(), course._replace(problem=problem)).content)
    assert 'href="/keys">Keys' in page
    assert "orchestrator reload" not in page


def test_title_is_the_question_for_those_who_may_read_it(course: TurnTimeline) -> None:
    """For others it is the end of the turn's id."""
    asked = course._replace(turn=replace(course.turn, asked="Is the train on time?"))
    assert waterfall.render_turn(request(), asked).title == "Is the train on time?"
    assert waterfall.render_turn(request("viewer"), asked).title.startswith("Turn ")


def test_those_who_may_not_read_see_no_text(course: TurnTimeline) -> None:
    """Only that there was one."""
    page = html(waterfall.render_turn(request("viewer"), course._replace(problem=None)).content)
    assert page.count("<pre>") == 0
    assert 'class="said"' not in page
    assert "Texts are for operators" in page


def test_sentence_says_where_the_time_went(course: TurnTimeline) -> None:
    """The longest first."""
    bars = [
        TimelineBar("m", "model", 0, 1800),
        TimelineBar("web_search", "tool", 1800, 4800),
        TimelineBar("to web", "send", 4800, 5100),
    ]
    shown = waterfall.describe_turn(
        course._replace(came=0, bars=bars, turn=replace(course.turn, usd=0.0112))
    )
    assert shown == (
        "5.10 s in all: 3.00 s in web_search, 1.80 s in the model, 300 ms sending. Cost: $0.0112."
    )


def test_time_without_people_is_told_apart(course: TurnTimeline) -> None:
    """A decision after a day does not make the agent slow."""
    bars = [TimelineBar("m", "model", 0, 1000), TimelineBar("pay", "person", 1000, 44_000)]
    shown = waterfall.describe_turn(course._replace(came=0, bars=bars), 43_000)
    assert shown.startswith("1.00 s in all + 43 s waiting for people: ")


def test_screen_shows_the_question_and_the_answer(course: TurnTimeline) -> None:
    """A long one is folded."""
    said = "Blue light is scattered most. " * 20
    step = TimelineStep(
        1,
        "model",
        "m",
        "pure",
        "done",
        None,
        json.dumps({"content": said}),
        None,
        None,
        0,
        0,
        1,
        None,
    )
    page = html(waterfall.render_turn(request(), course._replace(steps=[step])).content)
    assert "Question and answer" in page
    assert page.index("<details><summary>Blue light") < page.index("Steps")


def test_long_waits_are_folded_and_deaths_are_marked(course: TurnTimeline) -> None:
    """A day of waiting leaves room for the rest."""
    bars = [
        TimelineBar("m", "model", 0, 1000),
        TimelineBar("pay", "person", 1000, 86_400_000),
        TimelineBar("pay", "tool", 86_400_000, 86_401_000),
    ]
    marks = [TimelineMark(500, "the worker died")]
    page = html(
        waterfall.render_turn(request(), course._replace(came=0, bars=bars, marks=marks)).content
    )
    assert "⋯ 23 h 59 min ⋯" in page
    assert "after 500 ms: the worker died" in page
