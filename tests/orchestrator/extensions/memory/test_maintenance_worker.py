"""Background jobs in memory: which are due, what they store, and when they are tried again."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fakes.agent_process import real_spec
from fakes.agents_file import parsed
from fakes.background_work import AGENT, NOON, USED, BackgroundBench, background, embedded
from fakes.journal import job
from fakes.memory import WORK
from fakes.statements import store_fact
from fakes.suspending_reads import interrupt_read
from pydantic import JsonValue

from orchestrator.extensions.memory import (
    due_sessions,
    embedded_facts,
    fact_reads,
    maintenance_worker,
)
from orchestrator.extensions.memory.maintenance_worker import MaintenanceWorker
from orchestrator.extensions.memory.memory_requests import (
    FACTS_EXTRACT,
    SESSION_COMPACT,
    CompactionRequest,
    CompactionResult,
    ExtractedFact,
    ExtractedNote,
    ExtractionRequest,
    ExtractionResult,
    NumberedFact,
)
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.journal.turns import sessions
from thinker.protocol.background import TEXTS_EMBED, WORK_CANCEL, EmbeddingRequest
from thinker.protocol.messages import AssistantMessage, Message, UserMessage
from thinker.protocol.peer import CANCELLED, TOO_LONG, RpcError
from thinker.protocol.vectors import pack_vector

pytestmark = pytest.mark.usefixtures("reads")

LARGE = {"compaction": {"thresholdTokens": 100}, "factExtraction": {"enabled": False}}
QUIET = {"compaction": {"enabled": False}, "factExtraction": {"idleMinutes": 5}}
MINUTE = 60_000
HIKING = ExtractedFact(fact="Ann likes hiking.", category="preference", confidence=0.9)


def talk(bench: BackgroundBench, turns: int, first: int = 0, chat: str = "c") -> int:
    """Add turns to a session of ``work`` and return its id."""
    with job(bench.db):
        session = sessions.open_session(bench.db, "work", chat, NOON)
        for number in range(first, first + turns):
            messages: list[Message] = [
                UserMessage(content=f"Question {number}".ljust(60)),
                AssistantMessage(content="An answer."),
            ]
            sessions.append_messages(bench.db, session, f"{chat}{number}", messages, NOON)
    return session


@asynccontextmanager
async def maintained(
    folder: Path, **fields: Any
) -> AsyncIterator[tuple[BackgroundBench, MaintenanceWorker]]:
    """A bench whose jobs run once they are woken."""
    async with background(folder, **fields) as bench, anyio.create_task_group() as tasks:
        maintenance = maintenance_of(bench)
        tasks.start_soon(bench.index.run)
        tasks.start_soon(maintenance.run)
        yield bench, maintenance
        bench.index.close()
        maintenance.close()


def maintenance_of(bench: BackgroundBench) -> MaintenanceWorker:
    """The jobs of a bench; they do not run yet."""
    return MaintenanceWorker(
        bench.calls, bench.index, lambda: bench.file, lambda: bench.now, quiet=0.0
    )


async def test_large_session_is_summarized_and_paid_for(tmp_path: Path) -> None:
    """Summary and usage are stored together; the newest turns stay as they are."""
    async with maintained(tmp_path, **LARGE) as (bench, maintenance):
        bench.serve(
            SESSION_COMPACT,
            CompactionRequest,
            lambda _: CompactionResult(summary="They talked.", **USED),
        )
        session = talk(bench, 8)
        maintenance.wake()
        await bench.until(lambda: sessions.load_summary(bench.db, session)[0] == "They talked.")
        assert bench.spent() == [(f"compaction/{session}", "settled", 100)]
        assert len(sessions.list_history(bench.db, session, 50)) == 10


async def test_after_a_reply_only_its_agent_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are; a change of the configuration is a reason to look at all."""
    looked: list[set[str]] = []
    large = due_sessions.list_large_sessions

    def spied(db: Database, limits: Mapping[str, int]) -> list[tuple[int, str, int]]:
        looked.append(set(limits))
        return large(db, limits)

    monkeypatch.setattr(due_sessions, "list_large_sessions", spied)
    async with background(tmp_path, **LARGE) as bench, anyio.create_task_group() as tasks:
        maintenance = maintenance_of(bench)
        bench.file = parsed(AGENT | LARGE, AGENT | LARGE | {"agentId": "home"}).file
        bench.supervisor.define_agent(
            real_spec(tmp_path, "home", llm_provider="ollama", model="m"), 30
        )
        tasks.start_soon(maintenance.run)
        await bench.until(lambda: looked == [{"work", "home"}])
        for names, expected in (
            (("home",), {"home"}),
            (("gone", "home"), {"home"}),
            ((None,), {"work", "home"}),
            (("work",), {"work"}),
        ):
            looked.clear()
            for name in names:
                maintenance.wake(name)
            await bench.until(lambda: bool(looked))
            assert looked == [expected]
        maintenance.close()


async def test_session_that_grows_while_others_are_looked_at_is_summarized(tmp_path: Path) -> None:
    """Its agent is not taken for one that was looked at."""
    async with background(tmp_path, **LARGE) as bench, anyio.create_task_group() as tasks:
        maintenance = maintenance_of(bench)
        bench.serve(
            SESSION_COMPACT,
            CompactionRequest,
            lambda _: CompactionResult(summary="They talked.", **USED),
        )
        grown: list[int] = []

        async def happens(_: object) -> bool:
            grown.append(talk(bench, 8))
            maintenance.wake("work")
            return True

        interrupt_read(bench.store, maintenance_worker._list_due_jobs, happens)
        tasks.start_soon(maintenance.run)
        await bench.until(lambda: bool(grown))
        await bench.until(lambda: sessions.load_summary(bench.db, grown[0])[0] == "They talked.")
        maintenance.close()


async def test_session_that_was_not_summarized_is_tried_again_when_it_has_grown(
    tmp_path: Path,
) -> None:
    """An unusable answer is paid for, and not asked for at every wake."""
    answers = iter(("", "They talked."))
    async with maintained(tmp_path, **LARGE) as (bench, maintenance):
        bench.serve(
            SESSION_COMPACT,
            CompactionRequest,
            lambda _: CompactionResult(summary=next(answers), **USED),
        )
        session = talk(bench, 8)
        maintenance.wake()
        await bench.until(lambda: [state for _, state, _ in bench.spent()] == ["settled"])
        for _ in range(3):
            maintenance.wake()
            await bench.idle()
        assert len(bench.requests) == 1
        assert sessions.load_summary(bench.db, session)[0] is None
        talk(bench, 1, first=8)
        maintenance.wake()
        await bench.until(lambda: sessions.load_summary(bench.db, session)[0] == "They talked.")


async def test_facts_are_extracted_once_a_session_is_quiet(tmp_path: Path) -> None:
    """Not before its time, and not a second time."""
    async with maintained(tmp_path, **QUIET) as (bench, maintenance):
        bench.serve(
            FACTS_EXTRACT, ExtractionRequest, lambda _: ExtractionResult(facts=(HIKING,), **USED)
        )
        session = talk(bench, 2)
        maintenance.wake()
        await bench.idle()
        assert bench.requests == []
        bench.now += 5 * MINUTE
        maintenance.wake()
        await bench.until(lambda: bench.spent() == [(f"extraction/{session}", "settled", 100)])
        assert [
            fact for _, fact in embedded_facts.list_facts_without_vector(bench.db, "work", 9)
        ] == [HIKING.fact]
        bench.now += 5 * MINUTE
        maintenance.wake()
        await bench.idle()
        assert len(bench.requests) == 1


async def test_extraction_of_a_paused_agent_waits_for_another_quiet_time(tmp_path: Path) -> None:
    """It costs nothing meanwhile, and the session is not asked about at every wake."""
    async with maintained(tmp_path, **QUIET) as (bench, maintenance):
        bench.serve(
            FACTS_EXTRACT, ExtractionRequest, lambda _: ExtractionResult(facts=(HIKING,), **USED)
        )
        session = talk(bench, 2)
        await bench.gate.change_pause("work", "operator", paused=True)
        bench.now += 5 * MINUTE
        maintenance.wake()
        postponed = "SELECT idle_since FROM session WHERE id = ?"
        await bench.until(lambda: bench.db.execute(postponed, (session,)).get == bench.now)
        await bench.gate.change_pause("work", "operator", paused=False)
        maintenance.wake()
        await bench.idle()
        assert (bench.requests, bench.spent()) == ([], [])
        bench.now += 5 * MINUTE
        maintenance.wake()
        await bench.until(lambda: [state for _, state, _ in bench.spent()] == ["settled"])


async def test_facts_without_a_vector_are_embedded(tmp_path: Path) -> None:
    """By the worker that runs already."""
    model = {"model": "e", "provider": "ollama"}
    async with maintained(tmp_path, embeddings=model, **QUIET) as (bench, maintenance):
        bench.serve(TEXTS_EMBED, EmbeddingRequest, embedded([pack_vector([1.0, 0.0])]))
        with job(bench.db):
            store_fact(bench.db, WORK, HIKING.fact, "preference", "test", NOON)
        maintenance.wake()
        await bench.until(
            lambda: embedded_facts.list_facts_without_vector(bench.db, "work", 1) == []
        )
        (request,) = bench.requests
        assert request == (TEXTS_EMBED, EmbeddingRequest(texts=(HIKING.fact,)))


@pytest.mark.parametrize(("provider", "at_once"), [("groq", 2), ("ollama", 1)])
async def test_two_jobs_run_at_a_time_and_one_of_a_local_model(
    tmp_path: Path, provider: str, at_once: int
) -> None:
    """The next begins when one has ended; a job is never begun twice."""
    async with maintained(tmp_path, **LARGE) as (bench, maintenance):
        bench.supervisor.slots["work"].spec = real_spec(tmp_path, llm_provider=provider, model="m")
        bench.serve(
            SESSION_COMPACT,
            CompactionRequest,
            lambda _: CompactionResult(summary="They talked.", **USED),
        )
        bench.held = anyio.Event()
        open_sessions = [talk(bench, 8, chat=chat) for chat in "abc"]
        maintenance.wake()
        await bench.until(lambda: len(bench.requests) == at_once)
        maintenance.wake()
        await bench.idle()
        assert len(bench.requests) == at_once
        bench.held.set()
        await bench.until(
            lambda: all(sessions.load_summary(bench.db, session)[0] for session in open_sessions)
        )
        assert len(bench.requests) == 3


async def test_summary_gives_way_to_a_person_and_is_made_later(tmp_path: Path) -> None:
    """A local server answers one at a time, so the summary is ended, not failed."""
    async with maintained(tmp_path, **LARGE) as (bench, maintenance):
        asked = anyio.Event()
        cancelled = anyio.Event()

        async def summarize(params: JsonValue) -> JsonValue:
            CompactionRequest.model_validate(params)
            if asked.is_set():
                return CompactionResult(summary="They talked.", **USED).model_dump(mode="json")
            asked.set()
            await cancelled.wait()
            raise RpcError(CANCELLED, "cancelled")

        bench.worker_peer.requests[SESSION_COMPACT] = summarize
        bench.worker_peer.notifications[WORK_CANCEL] = lambda _: cancelled.set()
        session = talk(bench, 8)
        maintenance.wake()
        await asked.wait()
        async with bench.supervisor.use_worker("work"):
            await cancelled.wait()
            await bench.until(lambda: not maintenance.servers.jobs["work"])
            assert not maintenance.servers.is_idle("work")
            assert sessions.load_summary(bench.db, session)[0] is None
        maintenance.wake()
        await bench.until(lambda: sessions.load_summary(bench.db, session)[0] == "They talked.")


@pytest.mark.parametrize(
    ("fields", "idle"),
    [
        ({}, False),
        ({"llm_provider": "openai", "base_url": "http://10.0.0.1:1/v1"}, False),
        ({"llm_provider": "groq"}, True),
        ({"llm_provider": "groq", "small_model": "ollama/tiny"}, False),
    ],
)
async def test_jobs_wait_only_for_local_servers(
    tmp_path: Path, fields: dict[str, Any], *, idle: bool
) -> None:
    """A provider in the cloud answers many at a time."""
    async with background(tmp_path) as bench:
        spec = real_spec(tmp_path, **{"llm_provider": "ollama", "model": "m", **fields})
        bench.supervisor.slots["work"].spec = spec
        servers = maintenance_of(bench).servers
        assert servers.is_idle("work")
        async with bench.supervisor.use_worker("work"):
            assert servers.is_idle("work") is idle


async def test_summary_in_the_cloud_does_not_wait_for_local_embeddings(tmp_path: Path) -> None:
    """Vectors do: a question would wait for those of many messages."""
    async with background(tmp_path) as bench:
        local = {"provider": "local-embeddings", "model": "multilingual-e5-small"}
        spec = real_spec(tmp_path, llm_provider="groq", model="m", embeddings=local)
        bench.supervisor.slots["work"].spec = spec
        servers = maintenance_of(bench).servers
        async with bench.supervisor.use_worker("work"):
            assert servers.is_idle("work")
            assert not servers.is_idle("work", embeds=True)
            assert (servers.is_needed("work"), servers.is_needed("work", embeds=True)) == (
                False,
                True,
            )


async def test_conversation_that_the_model_cannot_read_is_searched_once(tmp_path: Path) -> None:
    """Facts are looked for again in what is said later."""
    async with maintained(tmp_path, **QUIET) as (bench, maintenance):

        async def refuse(_: JsonValue) -> JsonValue:
            raise RpcError(TOO_LONG, "too long")

        bench.worker_peer.requests[FACTS_EXTRACT] = refuse
        session = talk(bench, 3)
        bench.now += 6 * MINUTE
        maintenance.wake()
        upto = "SELECT facts_upto FROM session WHERE id = ?"
        await bench.until(lambda: bench.db.execute(upto, (session,)).get > 0)
        assert due_sessions.find_unextracted_range(bench.db, session, 10, lambda *_: WORK) is None


async def test_known_facts_are_in_the_request_and_notes_in_the_journal(tmp_path: Path) -> None:
    """What the model found is stored with the call's cost."""
    note = ExtractedNote(text="They spoke of hiking.", day=NOON)
    answer = ExtractionResult(facts=(HIKING,), notes=(note,), **USED)
    async with maintained(tmp_path, **QUIET) as (bench, maintenance):
        bench.serve(FACTS_EXTRACT, ExtractionRequest, lambda _: answer)
        with job(bench.db):
            tea = store_fact(bench.db, WORK, "Ann likes tea.", valid_from=5)
        talk(bench, 2)
        bench.now += 5 * MINUTE
        maintenance.wake()
        await bench.until(lambda: [state for _, state, _ in bench.spent()] == ["settled"])
        ((_, request),) = bench.requests
        assert isinstance(request, ExtractionRequest)
        assert request.known == (NumberedFact(id=tea.id, fact="Ann likes tea.", since=5),)
        (kept,) = fact_reads.list_newest_facts(bench.db, WORK, facts.NOTE, facts.FOREVER, 9)
        assert (kept.fact, kept.valid_from) == (note.text, NOON)
