"""A trial of the search in the terminal: which questions, in whose memory, and what they found."""

import textwrap
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import NamedTuple
from zoneinfo import ZoneInfo

from orchestrator import turn_access
from orchestrator.cli.known_agents import require_agent
from orchestrator.cli.loaded_settings import load_agents, load_environment
from orchestrator.cli.tables import describe_record
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.memory import message_index, probes
from orchestrator.extensions.memory.probes import Probe
from orchestrator.extensions.memory.search_trial import ProbeResult, run_probe
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings
from orchestrator.timezones import load_zone_or_utc

EXCERPT = 200  # characters of an expected message
ASKED = 10  # questions that are made of what people said
TALKERS = "SELECT DISTINCT agent_id FROM session WHERE agent_id = ifnull(?, agent_id) ORDER BY 1"
UNFOUND = "not found"
UNINDEXED = "not indexed yet"
WAITING = (
    "{count} not indexed yet and not found here; a running daemon indexes what is new after some"
    " replies, and before an agent's search"
)


class SearchTrial(NamedTuple):
    """Results, the time zone of their dates, and how many messages the index lacks."""

    results: list[ProbeResult]
    zone: ZoneInfo
    unindexed: int


def run_trial(
    settings: Settings,
    questions: Sequence[str],
    agent_id: str | None,
    scope: str | None,
    tokens: int,
) -> SearchTrial:
    """Ask the questions, or else ten made of what people said, each as its agent would search.

    Raises:
        AgentsFileError: agents.json, which says whose memory is whose, cannot be used.
        OrchestratorError: questions were asked, and it is open of which agent; or there is no such
            agent, or nothing was said to it.
    """
    file, environ = load_agents(settings), load_environment(settings)
    with open_for_reading(settings.journal) as db:
        if questions:
            chosen = _choose_agent(db, settings, agent_id)
            memory = MemoryScope(chosen, scope or "", joined=scope is None, shared=False)
            asked = [(memory, Probe(question)) for question in questions]
        else:
            if agent_id is not None:
                _choose_agent(db, settings, agent_id)
            now = time.time_ns() // 1_000_000
            asked = [
                (turn_access.build_memory_scope(file, db, said.agent_id, said.scope), probe)
                for probe in probes.pick_probes(db, agent_id, scope, now, ASKED)
                if (said := probe.expected) is not None
            ]
        agent = file.find_agent(asked[0][0].agent_id) if asked else None
        zone = load_zone_or_utc(agent.timezone if agent else None, environ)
        results = [run_probe(db, memory, probe, zone, tokens) for memory, probe in asked]
        return SearchTrial(results, zone, message_index.count_unindexed(db))


def _choose_agent(db: Database, settings: Settings, agent_id: str | None) -> str:
    found = [str(name) for (name,) in db.execute(TALKERS, (agent_id,))]
    if len(found) == 1:
        return found[0]
    if found:
        raise OrchestratorError(f"name the agent with --agent, one of {', '.join(found)}")
    if agent_id is not None:
        require_agent(settings, agent_id)
    raise OrchestratorError("nothing was said yet" + (f" to {agent_id!r}" if agent_id else ""))


def describe_trial(trial: SearchTrial, tokens: int) -> Iterator[str]:
    """Yield lines about each question, then how many found what they should."""
    zone = trial.zone
    for number, result in enumerate(trial.results, 1):
        yield f"{number}. {result.question}  [{_describe_outcome(result)}]"
        if result.expected is not None and result.expected_at is not None:
            said = datetime.fromtimestamp(result.expected_at / 1000, UTC).astimezone(zone)
            excerpt = textwrap.shorten(result.expected_text or "", EXCERPT, placeholder="…")
            yield f"   expected: {said:%Y-%m-%d %H:%M} {result.expected} {excerpt}"
        words = (f"{one.word} {one.weight:g} ({one.messages})" for one in result.words)
        yield f"   words with weight and messages: {', '.join(words) or 'none'}"
        for message in result.found:
            yield from (f"   {line}" for line in message.lines)
            parts = ", ".join(
                f"{name} {value:g}" for name, value in message.parts._asdict().items()
            )
            matched = ", ".join(message.matched) or "no word as it is"
            yield f"     {message.handle}: {message.score:g} = {parts}; matched: {matched}"
        yield ""
    if trial.unindexed:
        messages = "1 message is" if trial.unindexed == 1 else f"{trial.unindexed:,} messages are"
        yield WAITING.format(count=messages)
    yield summarize_trial(trial.results, tokens)


def summarize_trial(results: Sequence[ProbeResult], tokens: int) -> str:
    """Return how many expected messages an agent would have read."""
    expected = [result for result in results if result.shown is not None]
    middle = f"{median([result.milliseconds for result in results] or [0]):.0f} ms a search"
    if not expected:
        searches = "1 search" if len(results) == 1 else f"{len(results)} searches"
        return f"{searches} of {tokens:,} tokens at most, {middle}"
    shown = sum(bool(result.shown) for result in expected)
    first = sum(result.rank == 1 for result in expected)
    found = f"{shown} of {len(expected)} found within {tokens:,} tokens"
    return f"{found}, {first} of them first, {middle}"


def _describe_outcome(result: ProbeResult) -> str:
    took = f"{result.tokens:,} tokens, {result.milliseconds:.0f} ms"
    if result.shown is None:
        return took
    if result.indexed is False and result.rank is None:
        return f"{UNINDEXED}; {took}"
    where = UNFOUND if result.rank is None else f"rank {result.rank}"
    return f"{where}{'' if result.shown else ', not shown'}; {took}"


def describe_as_json(trial: SearchTrial, tokens: int) -> dict[str, object]:
    """Return the results for programs; times in milliseconds."""
    return {
        "summary": summarize_trial(trial.results, tokens),
        "unindexed": trial.unindexed,
        "results": [
            describe_record(
                result,
                words=[one._asdict() for one in result.words],
                found=[describe_record(one, parts=one.parts._asdict()) for one in result.found],
            )
            for result in trial.results
        ],
    }
