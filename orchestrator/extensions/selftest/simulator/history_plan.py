"""The course of a simulated history: messages and faults, made from a seed."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from random import Random
from typing import Literal, TypeAlias

from orchestrator.extensions.selftest.crash.scenario import (
    GROUP,
    HANDOVER,
    SERVER,
    STRANGERS,
    Scenario,
    Script,
    Style,
    make_scenario,
)
from thinker.protocol.messages import WhileBusy

PRIVATE = (101, 102, 103, 104)
NAMES = "abcdefghijklmnopqrstuvwxyz"
SPANS = (3.0, 10.0, 30.0)  # seconds in which people write
MESSAGES = (1, 2, 3, 3, 4, 5)
CHATS = (1, 1, 2, 3)  # few, so that messages meet
STEPS = (
    ("get_time",),
    ("store_fact",),
    ("send_message",),
    ("read_skill",),
    ("get_time", "store_fact"),
    ("selftest_effect",),
    ("selftest_keyed",),
    ("selftest_keyed", "selftest_effect"),
)
WORK = ("spawn_subagent", "schedule_task")  # tools that begin another script's work
WORKING = 0.15  # probability that a message has such work
HANDING = 0.15  # probability that the agents of a history hand chats to each other
STEERING, INTERRUPTING = 0.2, 0.1  # probability that a message joins the current turn, or ends it
GUARDED = 0.2  # probability that operators decide about all calls of tool servers
STYLES: tuple[Style, ...] = ("short", "short", "streamed", "streamed", "long")
Kind: TypeAlias = Literal[
    "say",  # a person writes ``name``
    "reword",  # a person edits a message, which reads ``name`` then
    "repeat",  # Telegram sends the update of ``name`` twice
    "murmur",  # in the group, a ``name`` ("person", "robot") writes what is not for the bot
    "edit",  # agents.json is edited; ``name`` says how
    "kill",  # SIGKILL of the daemon at the ``number``-th failpoint after this time
    "power",  # the same, and the disk loses what was not synced
    "stop",  # SIGTERM; the daemon is started again
    "worker",  # SIGKILL of a worker at the ``number``-th failpoint after this time
    "hang",  # a worker falls silent there
    "tools",  # SIGKILL of the tool host
    "platform",  # Telegram misbehaves for ``seconds`` as ``name`` says, in ``chat`` or for all
    "slow_tools",  # tool servers that start from now on need ``seconds``
    "disk",  # the disk is full for ``seconds``
    "broken_disk",  # writes fail until the daemon has ended
    "clock",  # the wall clock is set by ``seconds``; not where the checks compare times
]
CRASHES: tuple[Kind, ...] = ("kill", "kill", "kill", "power", "stop")
EDITS = ("better", "better", "broken")
MISBEHAVIOURS = ("flood", "error", "error", "late_error", "cut", "refused", "silence", "slow")
RARE: tuple[tuple[Kind, float, float], ...] = (  # kind, probability and longest duration
    ("tools", 0.15, 0.0),
    ("slow_tools", 0.15, 40.0),
    ("disk", 0.1, 20.0),
    ("broken_disk", 0.05, 0.0),
    ("clock", 0.1, 4000.0),
)
STRANGER = 0.15  # probability that one of the private chats has to be admitted first
REWORDED = 0.25  # probability that a person edits a message
NOTICED = (0.0, 0.05, 0.5, 5.0)  # seconds, at most, until a person sees what to edit
REPEATED = 0.2  # probability that an update comes twice
MURMURED = 0.5  # probability that there is talk in the group
EDITED = 0.25  # probability that agents.json is edited
MAX_OUTAGE_SECONDS = 40.0  # a turn may take 15 minutes


@dataclass(frozen=True)
class PlannedEvent:
    """One event, ``at`` seconds after the beginning."""

    at: float
    kind: Kind
    name: str = ""
    chat: int = 0
    seconds: float = 0.0
    number: int = 0

    def __str__(self) -> str:
        fields = [self.kind, self.name]
        fields += [f"in chat {self.chat}"] if self.chat else []
        fields += [f"for {self.seconds:.1f} s"] if self.seconds else []
        fields += [f"at failpoint {self.number}"] if self.number else []
        return " ".join([f"{self.at:7.3f} s ", *filter(None, fields)])


@dataclass(frozen=True)
class HistoryPlan:
    """The events of a seed in order of time, and the scripts of its messages.

    ``only`` are the numbers of the events that happen; None means all. ``while_busy`` is the effect
    of a message during an answer.
    """

    seed: int
    scripts: Scenario
    events: tuple[PlannedEvent, ...]
    only: tuple[int, ...] | None = None
    while_busy: WhileBusy = "queue"

    def select_events(self) -> dict[int, PlannedEvent]:
        """Return the events that happen, by their numbers."""
        chosen = range(len(self.events)) if self.only is None else self.only
        return {number: self.events[number] for number in chosen}

    def build_scenario(self) -> Scenario:
        """Return the scripts of the sent messages, and of their work."""
        written = ("say", "reword")
        said = {event.name for event in self.select_events().values() if event.kind in written}
        said |= {self.scripts[name].work for name in said}
        return {name: script for name, script in self.scripts.items() if name in said}

    def make_random(self, purpose: str) -> Random:
        """Return a random generator for one purpose, so that purposes do not affect each other."""
        return Random(f"{self.seed}/{purpose}")  # noqa: S311 - no secret depends on them


def make_course(seed: int, only: Collection[int] | None = None) -> HistoryPlan:
    """Return the course that a seed makes."""
    chance = Random(seed)  # noqa: S311 - no secret depends on it
    span = chance.choice(SPANS)
    chats = _add_stranger(seed, chance.sample((*PRIVATE, GROUP), chance.choice(CHATS)))
    guarded = chance.random() < GUARDED
    scripts = [_make_script(chance, name, chats) for name in NAMES[: chance.choice(MESSAGES)]]
    works = [_make_work_script(chance, script) for script in scripts if script.work]
    if guarded:
        scripts, works = (
            [_add_decision(chance, s) for s in scripts],
            [_add_decision(chance, s) for s in works],
        )
    habits = Random(f"{seed}/habits")  # noqa: S311 - no secret depends on it
    while_busy = _choose_while_busy(habits, guarded=guarded)
    tasks = any("schedule_task" in chain(*script.steps) for script in scripts)
    # The outcome of a task goes to a chat only while the task's agent answers it.
    if habits.random() < HANDING and not (guarded or tasks):
        scripts = [_add_handover(habits, script) for script in scripts]
    says = [PlannedEvent(chance.uniform(0, span), "say", name=script.name) for script in scripts]
    edits = list(_generate_corrections(seed, scripts, says))
    events = [
        *says,
        *(event for _, event in edits),
        *_generate_crashes(chance, span),
        *_generate_outages(chance, span, chats),
        *_generate_rare_faults(chance, span, [*scripts, *works], says),
        *_generate_talk_and_edits(habits, span, chats),
    ]
    ordered = tuple(sorted(events, key=lambda event: event.at))
    return HistoryPlan(
        seed,
        make_scenario(*scripts, *works, *(script for script, _ in edits)),
        ordered,
        None if only is None else tuple(sorted(only)),
        while_busy,
    )


def _add_stranger(seed: int, chats: list[int]) -> list[int]:
    """Return the chats, perhaps with a stranger's in place of the first."""
    chance = Random(f"{seed}/stranger")  # noqa: S311 - no secret depends on it
    known = chats[0] == GROUP or chance.random() >= STRANGER
    return chats if known else [STRANGERS[0], *chats[1:]]


def _make_script(chance: Random, name: str, chats: list[int]) -> Script:
    steps = tuple(chance.choice(STEPS) for _ in range(chance.choice((0, 0, 1, 1, 2, 3))))
    chat = chance.choice(chats)
    style = "short" if chat == GROUP else chance.choice(STYLES)
    if chat != GROUP and chance.random() < WORKING:
        steps, work = (*steps, (chance.choice(WORK),)), f"work{name}"
        return Script(f"message{name}", chat, steps, style=style, work=work)
    return Script(f"message{name}", chat, steps, style=style)


def _make_work_script(chance: Random, script: Script) -> Script:
    """Return the script of a message's subagent, or of the task that it schedules."""
    scheduled = "schedule_task" in script.steps[-1]
    steps = () if scheduled else (chance.choice(STEPS[-3:]),)
    return Script(script.work, script.chat, steps)


def _add_decision(chance: Random, script: Script) -> Script:
    """Return the script with the operators' decision about its calls of the tool server."""
    if not any(tool.startswith(SERVER) for step in script.steps for tool in step):
        return script
    return replace(script, decision=chance.choice(("approve", "approve", "deny")))


def _choose_while_busy(chance: Random, *, guarded: bool) -> WhileBusy:
    """Return the effect of a message during an answer; calls that wait for a decision go on."""
    drawn = chance.random()
    if drawn < INTERRUPTING:
        return "queue" if guarded else "interrupt"
    return "steer" if drawn < INTERRUPTING + STEERING else "queue"


def _add_handover(chance: Random, script: Script) -> Script:
    """Return the script, perhaps with a step that hands its chat to the other agent."""
    if chance.random() < 0.5:  # noqa: PLR2004 - evens
        return script
    place = chance.randint(0, len(script.steps))
    return replace(script, steps=(*script.steps[:place], (HANDOVER,), *script.steps[place:]))


def _generate_crashes(chance: Random, span: float) -> Iterator[PlannedEvent]:
    """Yield ends of the daemon, and of workers: at most two, as the third ends a message."""
    for _ in range(chance.choice((0, 1, 1, 2, 2, 3))):
        kind = chance.choice(CRASHES)
        number = 0 if kind == "stop" else chance.randint(1, 40)
        yield PlannedEvent(chance.uniform(0, 1.5 * span), kind, number=number)
    for _ in range(chance.choice((0, 0, 0, 1, 2))):
        ends: tuple[Kind, ...] = ("worker", "worker", "hang")
        at, number = chance.uniform(0, 1.5 * span), chance.randint(1, 30)
        yield PlannedEvent(at, chance.choice(ends), number=number)


def _generate_outages(chance: Random, span: float, chats: list[int]) -> Iterator[PlannedEvent]:
    for _ in range(chance.choice((0, 0, 1, 2, 3))):
        chat = chance.choice((0, chance.choice(chats)))
        seconds = chance.choice((0.2, 2.0, chance.uniform(0, MAX_OUTAGE_SECONDS)))
        how = chance.choice(MISBEHAVIOURS)
        yield PlannedEvent(chance.uniform(0, span), "platform", how, chat, seconds)


def _generate_rare_faults(
    chance: Random, span: float, scripts: list[Script], says: list[PlannedEvent]
) -> Iterator[PlannedEvent]:
    tools = {tool for script in scripts for step in script.steps for tool in step}
    timed = any(tool.startswith(SERVER) or tool in WORK for tool in tools)
    timed |= any(script.chat in STRANGERS for script in scripts)  # a code is valid for an hour
    for kind, probability, longest in RARE:
        if chance.random() < probability:
            if kind == "clock" and timed:
                continue
            shortest = -longest if kind == "clock" else 0.0
            seconds = chance.uniform(shortest, longest)
            yield PlannedEvent(chance.uniform(0, span), kind, seconds=seconds)
    if chance.random() < REPEATED:
        said = chance.choice(says)
        yield replace(said, kind="repeat", at=chance.uniform(said.at, 2 * span))


def _generate_corrections(
    seed: int, scripts: list[Script], says: list[PlannedEvent]
) -> Iterator[tuple[Script, PlannedEvent]]:
    """Yield new words of messages of people who are known, and when they are written."""
    chance = Random(f"{seed}/corrections")  # noqa: S311 - no secret depends on it
    for script, said in zip(scripts, says, strict=True):
        if script.chat in STRANGERS or chance.random() >= REWORDED:
            continue
        at = said.at
        for number in range(chance.choice((1, 1, 2, 3))):
            at += chance.uniform(0, chance.choice(NOTICED))
            name = f"{script.name}new{number}"
            steps = tuple(chance.choice(STEPS[:5]) for _ in range(chance.choice((0, 0, 1, 2))))
            correction = Script(name, script.chat, steps, corrects=script.name)
            yield correction, PlannedEvent(at, "reword", name=name)
            if chance.random() < REPEATED:
                yield correction, PlannedEvent(at + 0.01, "repeat", name=name)


def _generate_talk_and_edits(
    chance: Random, span: float, chats: list[int]
) -> Iterator[PlannedEvent]:
    """Yield others' messages in the group, and edits of agents.json."""
    if GROUP in chats and chance.random() < MURMURED:
        for _ in range(chance.choice((1, 2, 3))):
            speaker = chance.choice(("person", "robot"))
            yield PlannedEvent(chance.uniform(0, span), "murmur", name=speaker)
    if chance.random() < EDITED:
        for _ in range(chance.choice((1, 2, 3))):
            yield PlannedEvent(chance.uniform(0, 1.5 * span), "edit", name=chance.choice(EDITS))
