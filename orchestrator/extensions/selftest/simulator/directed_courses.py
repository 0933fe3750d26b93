"""Courses for one purpose each, which are run with a crash at every failpoint in turn.

Seeds meet any case sooner or later; these meet theirs every time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from orchestrator.extensions.selftest.crash.scenario import (
    GROUP,
    HANDOVER,
    STRANGERS,
    Script,
    Style,
    make_scenario,
    select_sent_scripts,
)
from orchestrator.extensions.selftest.simulator.history_plan import HistoryPlan, Kind, PlannedEvent
from orchestrator.extensions.selftest.simulator.simulated_world import EDIT_WITHIN
from thinker.protocol.messages import WhileBusy

APART = 2.5  # seconds from one message to the next: some meet the previous one's turn
OUTAGE = 12.0  # seconds from one misbehaviour of the platform to the next
QUICK = 0.1  # seconds between messages that come while the first one is answered
FETCHED, ANSWERED = 5.0, 90.0  # seconds
PLAN = ("selftest_keyed", "get_time", "selftest_effect")  # calls of one response
EFFECT, KEYED, FACT = ("selftest_effect",), ("selftest_keyed",), ("store_fact",)


def _make_course(
    *scripts: Script, others: tuple[PlannedEvent, ...] = (), apart: float = APART
) -> HistoryPlan:
    """Return a course in which people write their messages, ``apart`` seconds after each other."""
    sent = select_sent_scripts(make_scenario(*scripts)).values()
    says = [PlannedEvent(1 + n * apart, "say", script.name) for n, script in enumerate(sent)]
    events = tuple(sorted([*says, *others], key=lambda event: event.at))
    return HistoryPlan(1, make_scenario(*scripts), events)


def _set_while_busy(course: HistoryPlan, while_busy: WhileBusy) -> HistoryPlan:
    return replace(course, while_busy=while_busy)


def _make_outages(*ways: str) -> HistoryPlan:
    """Return a course in which Telegram misbehaves in one way after another.

    Each time a message is sent in another style, and its update comes twice.
    """
    chats: tuple[tuple[int, Style], ...] = ((101, "streamed"), (101, "long"), (GROUP, "short"))
    scripts, others = list[Script](), list[PlannedEvent]()
    for number, way in enumerate(ways):
        chat, style = chats[number % len(chats)]
        scripts.append(Script(f"{way}ed", chat, style=style))
        begun = 1.0 + number * OUTAGE
        others.append(PlannedEvent(begun + 0.05, "platform", way, seconds=OUTAGE / 2))
        others.append(PlannedEvent(begun + 0.1, "repeat", f"{way}ed"))
    return _make_course(*scripts, others=tuple(others), apart=OUTAGE)


def _make_corrections() -> HistoryPlan:
    """Return a course in which messages of a chat are edited while the first one's turn runs.

    Two of them wait, one of which is edited twice within a second and the first of the two edits
    may come again; the first is edited after its turn began. A message of another chat is edited
    before its update is fetched, and again after its turn began, within a second. The last edit
    is of a message that was answered.
    """
    scripts = (
        Script("one", 101, (FACT, ("get_time",)), style="streamed"),
        Script("two", 101, (FACT,)),
        Script("three", 101),
        Script("four", 101),
        Script("newone", 101, corrects="one"),
        Script("newtwo", 101, (("get_time",),), style="streamed", corrects="two"),
        Script("newthree", 101, (FACT,), corrects="three"),
        Script("newerthree", 101, corrects="three"),
        Script("newfour", 101, corrects="four"),
    )
    aside = (
        Script("five", 102),
        Script("six", GROUP),
        Script("newsix", GROUP, (FACT,), corrects="six"),
        Script("newersix", GROUP, corrects="six"),
    )
    begun = 1 + 4 * QUICK
    edits = ("newone", "newtwo", "newthree", "newerthree")
    others = [PlannedEvent(begun + n * QUICK / 10, "reword", name) for n, name in enumerate(edits)]
    others += [
        PlannedEvent(begun + QUICK / 3, "repeat", "newthree"),
        PlannedEvent(FETCHED, "say", "five"),  # its update is fetched alone
        PlannedEvent(FETCHED + 0.001, "say", "six"),
        PlannedEvent(FETCHED + 0.002, "reword", "newsix"),
        PlannedEvent(FETCHED + 0.6, "reword", "newersix"),
        PlannedEvent(ANSWERED, "reword", "newfour"),
    ]
    course = _make_course(*scripts, others=tuple(others), apart=QUICK)
    return replace(course, scripts=make_scenario(*scripts, *aside))


_TALK = (
    Script("one", 101, (FACT, ("get_time",)), style="streamed"),
    Script("two", 101, (FACT,)),
    Script("three", 101),
)
# Its first turn lasts until the other messages have come, whenever the daemon is ready.
_LONG_TALK = (Script("one", 101, (FACT, *[("get_time",)] * 4), style="streamed"), *_TALK[1:])
COURSES: Mapping[str, HistoryPlan] = {
    "approvals": _make_course(
        Script("one", 101, (KEYED, EFFECT), decision="approve"),
        Script("two", 101, (EFFECT,), decision="deny"),
        Script("three", GROUP, (KEYED,), decision="approve"),
    ),
    "corrections": _make_corrections(),
    "edits": _make_course(
        *_TALK,
        others=(
            PlannedEvent(1.5, "edit", "better"),
            PlannedEvent(3.0, "edit", "broken"),
            PlannedEvent(5.0, "edit", "better"),
            PlannedEvent(9.0, "edit", "broken"),
        ),
        apart=EDIT_WITHIN + 5,  # so that the edit has to apply to the next message
    ),
    "groups": _make_course(
        Script("one", GROUP, (FACT,)),
        Script("two", GROUP),
        Script("three", GROUP, (("send_message",),)),
        others=(
            PlannedEvent(1.2, "murmur", "person"),
            PlannedEvent(3.6, "murmur", "robot"),
            PlannedEvent(6.2, "murmur", "person"),
        ),
    ),
    "handoffs": _make_course(
        Script("one", 101, (FACT, (HANDOVER,), ("get_time",)), style="streamed"),
        Script("two", 101, (FACT,)),
        Script("three", 101, ((HANDOVER,), (HANDOVER,), (HANDOVER,))),
    ),
    "interruptions": _set_while_busy(_make_course(*_TALK), "interrupt"),
    "pairing": _make_course(
        Script("one", STRANGERS[0], (FACT,)), Script("two", STRANGERS[0]), Script("three", 101)
    ),
    "plans": _make_course(
        Script("one", 101, (PLAN,), decision="approve"),
        Script("two", 101, (PLAN,), decision="deny"),
        Script("three", GROUP, (PLAN, EFFECT), decision="approve"),
    ),
    "platform": _make_outages("flood", "late_error", "cut", "error", "refused", "silence"),
    "receipts": _make_course(
        Script("one", 101, (FACT, EFFECT), style="streamed", boasts=True),
        Script("two", 101, boasts=True),
        Script("three", GROUP, (FACT,)),
    ),
    "steering": _set_while_busy(_make_course(*_LONG_TALK), "steer"),
    "storage": _make_course(
        *_TALK,
        others=(PlannedEvent(3.4, "disk", seconds=20.0), PlannedEvent(40.0, "broken_disk")),
    ),
    "work": _make_course(
        Script("one", 101, (("spawn_subagent",),), work="two"),
        Script("two", 101, (EFFECT, FACT)),
        Script("three", 102, (("schedule_task",),), work="four"),
        Script("four", 102),
    ),
}


def add_crashes(
    name: str, kind: Kind, trace: Sequence[str], *, every: bool = False
) -> Iterator[HistoryPlan]:
    """Yield the course ``name`` with a crash at each failpoint of its ``trace``.

    A failpoint that is passed repeatedly counts once, or ``every`` time.
    """
    course = COURSES[name]
    for number, place in enumerate(trace, 1):
        if every or place not in trace[: number - 1]:
            crash = PlannedEvent(0.0, kind, number=number)
            yield replace(course, events=(crash, *course.events))
