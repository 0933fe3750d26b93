"""Tell chats what their agent has remembered, if its setting ``factExtraction.tell`` wants that.

A notice goes to the chat of the turn in which a fact was said, after the turn's reply: one for all
facts of a turn or an extraction. Models read no notices. What was stored while no daemon ran is not
told.

Where: is a person told what was remembered?
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrator.agentsfile import AgentsFile
from orchestrator.errors import JournalError
from orchestrator.extensions.memory.fact_lines import format_sentence
from orchestrator.extensions.memory.memories import FACTS, KnownFact
from orchestrator.journal.db.database import Database
from orchestrator.journal.db.store import Store, retry_later
from orchestrator.journal.memory import facts
from orchestrator.journal.turns import outbox
from orchestrator.journal.turns.inbox import INBOX
from orchestrator.journal.turns.shown_texts import SHORT
from orchestrator.loop_bound import LoopBound
from orchestrator.wakeup import Wakeup

ONE = "Remembered: {fact} · /memory undo {id}"
LISTED = "Remembered:\n{facts}\n/memory undo {id} takes the last one back."
MESSAGE = "message"  # the kind of what a person wrote
IS_OPEN = "SELECT 1 FROM turn WHERE id = ? AND state IN('running','waiting')"


class ToldFacts(NamedTuple):
    """The facts that need no notice: up to id ``floor``, and those ``above`` it."""

    floor: int = 0
    above: frozenset[int] = frozenset()


@dataclass(eq=False)
class LearnedNotices(LoopBound):
    """Queues the notices; ``sent`` is called after some were, ``clock`` returns milliseconds."""

    store: Store
    agents: Callable[[], AgentsFile]
    clock: Callable[[], int]
    sent: Callable[[], None]
    _told: ToldFacts = field(default_factory=ToldFacts, init=False)
    _since: int = field(default=0, init=False)
    _file: AgentsFile | None = field(default=None, init=False)
    _wanted: Mapping[str, str] = field(default_factory=dict, init=False)
    _wakeup: Wakeup = field(default_factory=Wakeup, init=False)

    def wake(self, agent_id: str = "") -> None:
        """Look for facts that were stored since."""
        del agent_id
        self._wakeup.wake()

    async def run(self) -> None:
        """Queue notices until cancelled."""
        self._since = self.clock()
        while True:
            changed = self._wakeup.changed
            try:
                await self.tell_new_facts()
            except JournalError as error:
                await retry_later(error)
            await changed.wait()

    async def tell_new_facts(self) -> None:
        """Queue a notice for each turn that stored facts, of agents that tell."""
        wanted, now = self._list_wanted(), self.clock()
        if not wanted:
            self._since = now  # what was stored meanwhile is not told later
            return
        told = self._told
        self._told = await self.store.transact(queue_notices, wanted, self._since, told, now)
        if self._told != told:
            self.sent()

    def _list_wanted(self) -> Mapping[str, str]:
        """Return the setting of each agent that tells; it is looked for once in each file."""
        file = self.agents()
        if file is not self._file:
            self._file = file
            self._wanted = {
                agent.agent_id: agent.fact_extraction.tell
                for agent in file.agents
                if agent.fact_extraction.tell != "never"
            }
        return self._wanted


def queue_notices(
    db: Database, wanted: Mapping[str, str], since: int, told: ToldFacts, now: int
) -> ToldFacts:
    """Queue the notices of facts stored since a time; return what is told by then.

    ``wanted`` is the setting of each agent that tells. Facts of open turns wait for their end.
    """
    found = FACTS.select(db, "id > ? AND created_at >= ? ORDER BY id", told.floor, since)
    groups: dict[str, list[KnownFact]] = {}
    waiting: set[int] = set()
    for fact in found:
        turn_id = _find_turn(fact)
        if turn_id and db.execute(IS_OPEN, (turn_id,)).get:
            waiting.add(fact.id)
        elif turn_id and fact.id not in told.above and fact.ended_by is None:
            groups.setdefault(turn_id, []).append(fact)
    for turn_id, stored in groups.items():
        _queue_notice(db, wanted, turn_id, stored, now)
    if not found:
        return told
    floor = min(waiting, default=found[-1].id + 1) - 1
    above = frozenset(fact.id for fact in found if fact.id > floor) - waiting
    return ToldFacts(floor, above)


def _queue_notice(
    db: Database, wanted: Mapping[str, str], turn_id: str, stored: Sequence[KnownFact], now: int
) -> None:
    row = INBOX.find_first(db, "turn_id = ? ORDER BY id LIMIT 1", turn_id)
    tells = wanted.get(stored[0].agent_id, "never")
    if row is None or row.kind != MESSAGE or tells == "never":
        return
    if not row.private and tells != "everywhere":
        return
    last = stored[-1]
    text = ONE.format(fact=format_sentence(last), id=last.id)
    if len(stored) > 1 or len(last.fact) < SHORT:  # of a list, a short one can be removed later
        lines = "\n".join(f"- {format_sentence(fact)} ({fact.id})" for fact in stored)
        text = LISTED.format(facts=lines, id=last.id)
    outbox.add_notice(db, row.build_address(), text, now)


def _find_turn(fact: KnownFact) -> str:
    """Return the turn that stored a fact, or the last one that it was extracted from."""
    kind, _, name = fact.source.partition(" ")
    if fact.category == facts.NOTE or kind not in ("turn", "extraction"):
        return ""
    return name.rpartition("..")[2] if kind == "extraction" else name
