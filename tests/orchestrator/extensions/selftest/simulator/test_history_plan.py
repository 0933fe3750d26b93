"""Courses: a seed always makes the same one, and leaving events out changes no other."""

from collections import Counter

from orchestrator.extensions.selftest.crash.scenario import HANDOVER, STRANGERS
from orchestrator.extensions.selftest.simulator.history_plan import PlannedEvent, make_course


def test_seed_decides_the_course() -> None:
    """Equal seeds make equal courses, other seeds others."""
    assert make_course(7) == make_course(7)
    assert len({str(make_course(seed)) for seed in range(50)}) == 50


def test_events_are_in_the_order_of_time() -> None:
    """Whatever makes them."""
    for seed in range(100):
        times = [event.at for event in make_course(seed).events]
        assert times == sorted(times)


def test_every_kind_of_event_is_made() -> None:
    """Among a few hundred seeds."""
    kinds = Counter(event.kind for seed in range(300) for event in make_course(seed).events)
    assert set(kinds) == {
        *("say", "repeat", "kill", "power", "stop", "worker", "hang", "tools"),
        *("platform", "slow_tools", "disk", "broken_disk", "clock", "murmur", "edit", "reword"),
    }


def test_agents_have_every_habit_in_some_courses() -> None:
    """They let messages join the turn in hand or end it, and hand chats to each other."""
    courses = [make_course(seed) for seed in range(300)]
    habits = Counter(course.while_busy for course in courses)
    assert min(habits[habit] for habit in ("queue", "steer", "interrupt")) > 10
    handing = [
        course
        for course in courses
        if any(HANDOVER in step for script in course.scripts.values() for step in script.steps)
    ]
    assert len(handing) > 10


def test_some_messages_are_edited_more_than_once() -> None:
    """After they were sent, and in their own chat; some at once, before the daemon reads them."""
    pauses: list[float] = []
    counts = Counter[str]()
    for course in map(make_course, range(300)):
        said = {event.name: event.at for event in course.events if event.kind == "say"}
        for event in course.events:
            if event.kind == "reword":
                script = course.scripts[event.name]
                assert script.chat == course.scripts[script.corrects].chat
                pauses.append(event.at - said[script.corrects])
                counts[f"{course.seed}/{script.corrects}"] += 1
    assert min(pauses) == 0.0
    assert max(pauses) > 1.0
    assert max(counts.values()) == 3


def test_some_courses_have_a_stranger_whom_an_operator_lets_in() -> None:
    """Without a set clock, which would end the code before the operator looks."""
    strange = [
        course
        for course in map(make_course, range(300))
        if any(script.chat in STRANGERS for script in course.scripts.values())
    ]
    assert len(strange) > 10
    assert not any(event.kind == "clock" for course in strange for event in course.events)


def test_chosen_events_keep_their_numbers() -> None:
    """So that the options of a failure repeat it."""
    whole = make_course(7)
    part = make_course(7, (2, 0))
    assert part.select_events() == {0: whole.events[0], 2: whole.events[2]}


def test_scenario_has_only_messages_that_are_sent_and_their_work() -> None:
    """Checks would miss the answers to others."""
    for seed in range(100):
        course = make_course(seed)
        says = [n for n, event in course.select_events().items() if event.kind == "say"]
        part = make_course(seed, says[:1])
        said = part.scripts[part.events[says[0]].name]
        assert set(part.build_scenario()) == {said.name, said.work} - {""}


def test_event_is_written_for_people() -> None:
    """With everything that it does."""
    event = PlannedEvent(1.5, "platform", "flood", 101, 2.0)
    assert str(event) == "  1.500 s  platform flood in chat 101 for 2.0 s"
    assert str(PlannedEvent(12.0, "kill", number=3)) == " 12.000 s  kill at failpoint 3"
