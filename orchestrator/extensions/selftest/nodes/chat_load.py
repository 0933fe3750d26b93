"""The load of many people who write all the time."""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count, cycle

import anyio

from orchestrator.extensions.selftest.crash.evidence import parse_marks
from orchestrator.extensions.selftest.crash.ledger import Ledger, LedgerEvent
from orchestrator.extensions.selftest.crash.scenario import (
    AGENTS,
    HANDOVER,
    OPERATORS,
    SERVER,
    Scenario,
    Script,
    make_scenario,
)
from orchestrator.extensions.selftest.crash.world import World

EFFECT, KEYED = f"{SERVER}_effect", f"{SERVER}_keyed"
REPEAT_SECONDS = 30.0  # after which a person without an answer writes again
PEOPLE = range(1001, 1033)  # chats of agents with all permissions
HANDED = range(1051, 1055)  # chats that the agents `AGENTS` hand to each other
GUARDED = range(1101, 1105)  # chats of agents whose calls operators decide
GROUPS = range(-1203, -1200)
TEAM = 12  # agents of people, among whom several nodes share
GROUP_ROUNDS = 8  # a group takes few messages a minute, so it is left out of other rounds
# Messages in a row: each one after the first is sent during the answer to the previous one.
TALKS = (
    (Script("", 0), Script("", 0)),
    (Script("", 0, (("get_time", "store_fact"),)), Script("", 0)),
    (Script("", 0, ((EFFECT,), (KEYED,))),),
    (Script("", 0, style="streamed"), Script("", 0)),
    (Script("", 0, (("spawn_subagent",),), work="subagent"),),
    (Script("", 0, style="long"),),
    (Script("", 0, (("send_message",),)), Script("", 0, (("store_fact",),))),
    (Script("", 0, ((KEYED,),), style="streamed"), Script("", 0, ((EFFECT,),))),
    (Script("", 0, style="streamed", stopped=True),),
)
HANDOVERS = (
    (Script("", 0, ((HANDOVER,), (KEYED,))), Script("", 0, ((EFFECT,),))),
    (Script("", 0, (("store_fact",), (HANDOVER,)), style="streamed"),),
)
SCHEDULED = (Script("", 0, (("schedule_task",),), work="task"),)
TASKS_EVERY = 40  # talks
DECIDED = (
    (Script("", 0, ((EFFECT,),), decision="approve"),),
    (Script("", 0, ((KEYED,),), decision="deny"), Script("", 0)),
)


@dataclass(frozen=True)
class Talks:
    """The messages of each chat, in successive talks.

    ``kinds`` are equal for messages that make the same work, by their names. The first talk of a
    chat, in which its agent's worker may start, has none.
    """

    scripts: Scenario
    by_chat: Mapping[int, list[tuple[Script, ...]]]
    kinds: Mapping[str, tuple[int, Script]]

    @property
    def agents_by_chat(self) -> dict[int, str]:
        """The agents of the chats."""
        return {chat: _name_agent(chat) for chat in self.by_chat}


def _name_agent(chat: int) -> str:
    if chat in HANDED:
        return AGENTS[0]
    return f"guarded{chat % 2}" if chat in GUARDED else f"team{chat % TEAM}"


def make_talks(messages: int) -> Talks:
    """Return talks with about this number of messages from people."""
    numbers, made = count(1), list[Script]()
    by_chat: defaultdict[int, list[tuple[Script, ...]]] = defaultdict(list)
    alike: dict[str, tuple[int, Script]] = {}
    kinds, decided, handed = cycle(TALKS), cycle(DECIDED), cycle(HANDOVERS)
    said = 0
    for number, chat in enumerate(_cycle_chats()):
        if said >= messages:
            break
        special = decided if chat in GUARDED else handed if chat in HANDED else kinds
        kind = next(special)
        if number % TASKS_EVERY == TASKS_EVERY - 1 and chat in PEOPLE:
            kind = SCHEDULED
        talk = list[Script]()
        for script in kind:
            follows = talk[-1].name if talk else f"talk {chat} {len(by_chat[chat])}"
            name, work = f"m{next(numbers)}", ""
            if script.work:
                work = f"{script.work}{next(numbers)}"
                made.append(Script(work, chat, ((EFFECT,),) if script.work == "subagent" else ()))
            if by_chat[chat]:
                alike[name] = len(talk), script
            talk.append(replace(script, name=name, chat=chat, follows=follows, work=work))
        made += talk
        said += len(talk)
        by_chat[chat].append(tuple(talk))
    return Talks(make_scenario(*made), by_chat, alike)


def _cycle_chats() -> Iterator[int]:
    for number in count():
        yield from (*GUARDED, *HANDED, *PEOPLE)
        if number % GROUP_ROUNDS == 0:
            yield from GROUPS


@dataclass(frozen=True)
class Waits:
    """The seconds that people waited for answers.

    ``calm`` are those without a fault, ``aside`` those that had part of a fault of another node
    than that of their agent, and ``longer`` says of each of these how much longer it was than the
    median of the calm ones for the same kind of message.
    """

    calm: list[float] = field(default_factory=list)
    aside: list[float] = field(default_factory=list)
    longer: list[float] = field(default_factory=list)


@dataclass(eq=False)
class ChatLoad(World):
    """Everything outside the nodes: people in many chats, Telegram, the model and the tools."""

    talks: Talks
    ledger: Ledger
    operators = OPERATORS[:2]
    _marks: set[str] = field(default_factory=set, init=False)
    _faults: list[tuple[int, int, frozenset[str]]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        super().__init__(self.talks.scripts, self.ledger)

    @property
    def message_count(self) -> int:
        """The number of messages that people have written."""
        return len(self._sent)

    async def write_messages(self) -> None:
        """Write all messages; a person who got an answer continues."""
        async with anyio.create_task_group() as tasks:
            for chat in self.talks.by_chat:
                tasks.start_soon(self._write_talks, chat)

    def note_fault(self, began: int, ended: int, struck: frozenset[str]) -> None:
        """Note a fault of the node of some agents; times in milliseconds since the epoch."""
        self._faults.append((began, ended, struck))

    def measure_waits(self, events: Iterable[LedgerEvent]) -> Waits:
        """Measure how long people waited who wrote to agents of nodes that no fault befell."""
        said: dict[str, int] = {}
        found = Waits()
        usual: defaultdict[tuple[int, Script], list[float]] = defaultdict(list)
        aside: list[tuple[tuple[int, Script], float]] = []
        for event in events:
            if event.kind == "said":
                said[event.text] = event.at
            for mark in parse_marks(event.text) if event.kind == "shown" else ():
                name = mark.partition("#")[0]
                at, kind = said.pop(name, None), self.talks.kinds.get(name)
                if at is None or kind is None:
                    continue
                struck = self._list_struck(at, event.at)
                waited = (event.at - at) / 1000
                if not struck:
                    usual[kind].append(waited)
                elif not any(self.talks.agents_by_chat[event.chat] in who for who in struck):
                    aside.append((kind, waited))
        found.calm.extend(chain.from_iterable(usual.values()))
        found.aside.extend(waited for _, waited in aside)
        found.longer.extend(
            waited - statistics.median(usual[kind]) for kind, waited in aside if usual[kind]
        )
        return found

    def _list_struck(self, began: int, ended: int) -> list[frozenset[str]]:
        """Return whose node a fault befell, for each fault in this time."""
        return [who for first, last, who in self._faults if first <= ended and began <= last]

    async def _write_talks(self, chat: int) -> None:
        for number, talk in enumerate(self.talks.by_chat[chat]):
            self.send_following(f"talk {chat} {number}")
            with anyio.move_on_after(REPEAT_SECONDS):
                while talk[-1].marks[-1] not in self._marks:
                    await self.bot.wait_for_change()

    def _on_shown_text(self, text: str, chat_id: int, message_id: int) -> None:
        super()._on_shown_text(text, chat_id, message_id)
        self._marks.update(parse_marks(text))
        if "stopped" in text.lower():
            self._marks.update(self._list_stopped_marks(chat_id))

    def _list_stopped_marks(self, chat: int) -> Iterator[str]:
        for talk in self.talks.by_chat[chat]:
            for script in talk:
                if script.stopped and script.name in self._sent:
                    yield from script.marks
