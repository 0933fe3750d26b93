"""Load the memory for a turn's prompt: facts, profile, playbooks and skills."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrator.journal.db.database import Database, ask_ahead
from orchestrator.journal.memory import fact_cards, facts, playbooks, profile
from orchestrator.journal.memory.fact_cards import FactCard
from orchestrator.journal.memory.fact_vectors import Embedding
from orchestrator.journal.memory.memory_scope import EVERY, MemoryScope
from thinker.protocol.messages import JsonObject, Origin
from thinker.protocol.methods import ListedSkill, Memory

MAX_FACTS = 5  # facts in the prompt that fit the message
SPARE = 3  # more that are looked for, as notes and older ones of a slot are left out
NEWS = 2  # facts newer than the card that come before those that fit the message
TOKENS = 800  # of all facts in a prompt
MAX_CACHED = 256  # sets of playbooks
OVERVIEW = (  # whether an agent has facts and a profile, and the states of a scope's playbooks
    "SELECT EXISTS(SELECT 1 FROM fact WHERE agent_id = ?1),"
    " EXISTS(SELECT 1 FROM profile WHERE agent_id = ?1),"
    f" (SELECT state FROM playbook_state WHERE agent_id = ?1 AND scope = '{EVERY}'),"
    " (SELECT state FROM playbook_state WHERE agent_id = ?1 AND scope = ?2)"
)


class _Offer(NamedTuple):
    """The playbooks and skills for a chat's turns, cached for one state and one set of globs.

    ``since`` is when the newest one was created, in milliseconds.
    """

    states: dict[str, bytes]
    globs: tuple[str, ...]
    since: int
    playbooks: tuple[JsonObject, ...]
    skills: tuple[ListedSkill, ...]


# Keyed by agent, chat (if it has playbooks of its own), and whether it sees those of every chat.
_offers: dict[tuple[str, str, bool], _Offer] = {}


class PromptMemory(NamedTuple):
    """Fields of `TurnRun` of the same names."""

    memories: tuple[Memory, ...] = ()
    profile_prompt: str | None = None
    profile_origin: Origin = "user"
    playbooks: tuple[JsonObject, ...] = ()
    skills: tuple[ListedSkill, ...] = ()


def ask_overview(db: Database, memory: MemoryScope) -> None:
    """Announce `load_prompt_memory`."""
    ask_ahead(db, (OVERVIEW, (memory.agent_id, EVERY if memory.joined else memory.chat)))


def load_prompt_memory(
    db: Database,
    memory: MemoryScope,
    text: str,
    globs: Sequence[str],
    until: int = facts.FOREVER,
    meaning: Embedding | None = None,
    session_id: int | None = None,
    card_tokens: int = fact_cards.CARD_TOKENS,
) -> PromptMemory:
    """Return the memory of an agent in a chat at a time: its card, and what fits ``text``.

    ``globs`` match its skills. ``until`` is the start of the turn (milliseconds): entries that a
    resumed turn itself has stored must not change its prompt. ``meaning`` is the text's embedding.
    The card is of at most ``card_tokens`` and stays the same in a sitting of the session; without
    one, it is chosen anew.
    """
    own = EVERY if memory.joined else memory.chat
    has_facts, has_profile, shared, owned = db.execute(OVERVIEW, (memory.agent_id, own)).get
    states = {scope: bytes(state) for scope, state in ((EVERY, shared), (own, owned)) if state}
    offer = _load_offer(db, memory, tuple(globs), until, states)
    known: tuple[Memory, ...] = ()
    if has_facts:
        card = fact_cards.load_card(db, memory, session_id, until, card_tokens)
        known = _load_memories(db, memory, text, until, meaning, card)
    persona = profile.find_system_prompt(db, memory) if has_profile else None
    wrote: Origin = "user"
    if persona is not None:
        wrote = profile.load_value_origin(db, memory, profile.PROMPT)
    return PromptMemory(
        memories=known,
        profile_prompt=persona,
        profile_origin=wrote,
        playbooks=offer.playbooks,
        skills=offer.skills,
    )


def _load_memories(
    db: Database,
    scope: MemoryScope,
    text: str,
    until: int,
    meaning: Embedding | None,
    card: FactCard,
) -> tuple[Memory, ...]:
    """Return the facts that fit a text best and are not on the card, then the card; newest first.

    Facts that are newer than the card come along, as they may outdate the others. If there are
    several facts, all have a time to compare.
    """
    on_card, limit = card.known, MAX_FACTS + SPARE
    ids = facts.rank_facts(db, scope, text, limit, until, meaning, on_card, replaced=True)
    found = facts.load_facts(db, scope, [*card.newer[:NEWS], *ids, *card.newer[NEWS:]])
    newest = {
        fact.id: fact
        for one in found
        if (fact := facts.find_current_fact(db, scope, one, until)) is not None
        and fact.id not in on_card
        and fact.category != facts.NOTE
    }
    left = TOKENS - sum(map(fact_cards.measure_line, on_card.values())) - fact_cards.FRAME
    fitting = fact_cards.keep_fitting(newest.values(), left)[:MAX_FACTS]
    shown = [
        Memory(
            fact=fact.fact,
            category=fact.category,
            origin=fact.origin,
            since=fact.valid_from,
            stored=fact.created_at,
        )
        for fact in sorted(fitting, key=lambda fact: -fact.id)
    ]
    known = (*shown, *on_card.values())
    if len(known) == 1 and known[0].category != facts.NOTE:
        return (known[0].model_copy(update={"stored": None}),)
    return known


def _load_offer(
    db: Database, memory: MemoryScope, globs: tuple[str, ...], until: int, states: dict[str, bytes]
) -> _Offer:
    """Return a chat's playbooks, cached until they change, since reading them is slow.

    ``states`` are as `playbooks.load_states` returns them. Defaults that the agent never had are
    stored first.
    """
    own = EVERY if memory.joined else memory.chat
    key = memory.agent_id, own if own in states else EVERY, memory.joined or memory.shared
    kept = _offers.get(key)
    if kept is not None and (kept.states, kept.globs) == (states, globs) and kept.since <= until:
        return kept
    if playbooks.seed_playbooks(db, memory.agent_id, until):
        states = playbooks.load_states(db, memory)
    every = playbooks.list_playbooks(db, memory, globs)
    known = [item for item in every if item.created_at <= until]
    since = max((item.created_at for item in known), default=0)
    offer = _Offer(
        states, globs, since, playbooks.build_worker_records(known), playbooks.list_skills(known)
    )
    if states and known == every:
        if len(_offers) >= MAX_CACHED:
            _offers.clear()
        _offers[key] = offer
    return offer
