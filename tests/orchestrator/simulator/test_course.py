"""Courses: a seed always makes the same one, and leaving events out changes no other."""

from collections import Counter

from orchestrator.selftest.scenario import STRANGERS
from orchestrator.simulator.course import CourseEvent, course_of


def test_seed_decides_the_course() -> None:
    """Equal seeds make equal courses, other seeds others."""
    assert course_of(7) == course_of(7)
    assert len({str(course_of(seed)) for seed in range(50)}) == 50


def test_events_are_in_the_order_of_time() -> None:
    """Whatever makes them."""
    for seed in range(100):
        times = [event.at for event in course_of(seed).events]
        assert times == sorted(times)


def test_every_kind_of_event_is_made() -> None:
    """Among a few hundred seeds."""
    kinds = Counter(event.kind for seed in range(300) for event in course_of(seed).events)
    assert set(kinds) == {
        *("say", "repeat", "kill", "power", "stop", "worker", "hang", "tools"),
        *("platform", "slow_tools", "disk", "broken_disk", "clock"),
    }


def test_some_courses_have_a_stranger_whom_an_operator_lets_in() -> None:
    """Without a set clock, which would end the code before the operator looks."""
    strange = [
        course
        for course in map(course_of, range(300))
        if any(script.chat in STRANGERS for script in course.scripts.values())
    ]
    assert len(strange) > 10
    assert not any(event.kind == "clock" for course in strange for event in course.events)


def test_chosen_events_keep_their_numbers() -> None:
    """So that the options of a failure repeat it."""
    whole = course_of(7)
    part = course_of(7, (2, 0))
    assert part.present() == {0: whole.events[0], 2: whole.events[2]}


def test_scenario_has_only_messages_that_are_sent_and_their_work() -> None:
    """Checks would miss the answers to others."""
    for seed in range(100):
        course = course_of(seed)
        says = [n for n, event in course.present().items() if event.kind == "say"]
        part = course_of(seed, says[:1])
        said = part.scripts[part.events[says[0]].name]
        assert set(part.scenario()) == {said.name, said.work} - {""}


def test_event_is_written_for_people() -> None:
    """With everything that it does."""
    event = CourseEvent(1.5, "platform", "flood", 101, 2.0)
    assert str(event) == "  1.500 s  platform flood in chat 101 for 2.0 s"
    assert str(CourseEvent(12.0, "kill", number=3)) == " 12.000 s  kill at failpoint 3"
