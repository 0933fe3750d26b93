"""Which facts and messages are embedded, when a job gives way, and how much it has covered."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from fakes.background_work import NOON, USED, BackgroundBench, background
from fakes.embeddings_api import vector
from fakes.journal import address_of, job
from fakes.memory import WORK
from fakes.statements import store_fact

from orchestrator.extensions.memory import embedding_jobs, message_vectors
from orchestrator.extensions.memory.embedding_jobs import SLICE, EmbeddingJobs
from orchestrator.extensions.memory.local_servers import LocalServers
from orchestrator.extensions.memory.maintenance_worker import REST, TRIES, MaintenanceWorker
from orchestrator.journal.turns import sessions
from orchestrator.turns.embedding_index import PAUSE_SECONDS
from thinker.protocol.background import TEXTS_EMBED, EmbeddingRequest, EmbeddingResult
from thinker.protocol.messages import Message, UserMessage
from thinker.protocol.peer import FAILED, RpcError
from thinker.protocol.vectors import pack_vector

pytestmark = pytest.mark.usefixtures("reads")

MODEL = {"provider": "ollama", "model": "e", "messages": True}
QUIET = {"compaction": {"enabled": False}, "factExtraction": {"enabled": False}}


def say(bench: BackgroundBench, *texts: str) -> None:
    """Messages of the user in one chat."""
    with job(bench.db):
        session = sessions.open_session(bench.db, "work", "c", NOON)
        messages: list[Message] = [UserMessage(content=text) for text in texts]
        sessions.append_messages(bench.db, session, "t", messages, NOON)


def answer(request: EmbeddingRequest) -> EmbeddingResult:
    """The answer of the embeddings model."""
    vectors = tuple(pack_vector(vector(text)) for text in request.texts)
    return EmbeddingResult(vectors=vectors, **{**USED, "model": "ollama/e"})


@asynccontextmanager
async def embedding(folder: Path) -> AsyncIterator[tuple[BackgroundBench, EmbeddingJobs]]:
    """A bench whose messages are embedded, and its jobs."""
    async with background(folder, embeddings=MODEL, **QUIET) as bench:
        bench.serve(TEXTS_EMBED, EmbeddingRequest, answer)
        servers = LocalServers(bench.supervisor, 0.0)
        yield bench, EmbeddingJobs(bench.store, bench.index, servers)


def asked(bench: BackgroundBench) -> list[tuple[str, ...]]:
    """The texts of each request."""
    return [request.texts for _, request in bench.requests if isinstance(request, EmbeddingRequest)]


def covered(bench: BackgroundBench) -> tuple[int, int]:
    """How many messages have a vector, and how many there are."""
    return message_vectors.count_coverage(bench.db, "work", "ollama/e")


async def test_facts_and_then_messages_are_embedded_in_slices(tmp_path: Path) -> None:
    """With their authors, and each call is paid for."""
    async with embedding(tmp_path) as (bench, jobs):
        with job(bench.db):
            store_fact(bench.db, WORK, "User likes tea", "preference", "test", NOON)
        say(bench, *(f"Message {number}" for number in range(SLICE + 2)))
        assert jobs.has_backlog(bench.agent)
        await jobs.embed_memory(bench.agent)
        first, *others = asked(bench)
        assert first == ("User likes tea",)
        assert [len(texts) for texts in others] == [SLICE, 2]
        assert others[1] == ("user: Message 1", "user: Message 0")
        assert covered(bench) == (SLICE + 2, SLICE + 2)
        assert [state for _, state, _ in bench.spent()] == ["settled"] * 3
        assert not jobs.has_backlog(bench.agent)
        assert jobs.coverage == {}


async def test_nothing_is_asked_when_nothing_is_missing(tmp_path: Path) -> None:
    """A new message makes the job due again."""
    async with embedding(tmp_path) as (bench, jobs):
        say(bench, "Hello")
        await jobs.embed_memory(bench.agent)
        assert not embedding_jobs.lacks_vectors(bench.db, bench.agent)
        await jobs.embed_memory(bench.agent)
        assert len(bench.requests) == 1
        say(bench, "Hello again")
        assert embedding_jobs.lacks_vectors(bench.db, bench.agent)


async def test_messages_are_not_sent_unless_the_agent_says_so(tmp_path: Path) -> None:
    """A server may be paid for each, or belong to others."""
    async with embedding(tmp_path) as (bench, jobs):
        say(bench, "Hello")
        model = bench.agent.embeddings
        assert model is not None
        silent = model.model_copy(update={"messages": False})
        agent = bench.agent.model_copy(update={"embeddings": silent})
        assert not jobs.has_backlog(agent)
        assert not embedding_jobs.lacks_vectors(bench.db, agent)
        await jobs.embed_memory(agent)
        assert bench.requests == []


async def test_job_gives_way_to_a_turn_after_one_slice(tmp_path: Path) -> None:
    """And says how far it came."""
    async with embedding(tmp_path) as (bench, jobs):
        say(bench, *(f"Message {number}" for number in range(3 * SLICE)))
        bench.supervisor.slots["work"].callers += 1
        await jobs.embed_memory(bench.agent)
        assert len(bench.requests) == 1
        assert str(jobs.coverage["work"]) == "vectors of 16 of 48 messages (33 %)"
        bench.supervisor.slots["work"].callers -= 1
        await jobs.embed_memory(bench.agent)
        assert covered(bench) == (3 * SLICE, 3 * SLICE)


async def test_failed_request_ends_the_job_and_is_tried_again(tmp_path: Path) -> None:
    """What is missing is still missing, and the problem is known."""
    async with embedding(tmp_path) as (bench, jobs):

        def fail(_: EmbeddingRequest) -> EmbeddingResult:
            raise RpcError(FAILED, "the server is away")

        bench.serve(TEXTS_EMBED, EmbeddingRequest, fail)
        say(bench, "Hello")
        await jobs.embed_memory(bench.agent)
        assert (len(bench.requests), covered(bench)) == (1, (0, 1))
        assert jobs.has_backlog(bench.agent)
        assert "the server is away" in bench.index.problems["work"]
        assert not bench.index.is_ready(bench.agent, "work")
        assert jobs.failures == {"work": 1}
        bench.now += round(PAUSE_SECONDS * 1000)
        bench.serve(TEXTS_EMBED, EmbeddingRequest, answer)
        await jobs.embed_memory(bench.agent)
        assert (covered(bench), jobs.failures, bench.index.problems) == ((1, 1), {}, {})


async def test_vectors_of_an_earlier_model_make_room(tmp_path: Path) -> None:
    """Also of one whose vectors have become longer."""
    async with embedding(tmp_path) as (bench, jobs):
        say(bench, "Hello")
        (old,) = message_vectors.list_new_messages(bench.db, "work", "openai/f", 9)
        with job(bench.db):
            longer = {old.message_id: pack_vector([1.0] * 9)}
            message_vectors.store_vectors(bench.db, "work", "openai/f", longer)
        await jobs.embed_memory(bench.agent)
        assert covered(bench) == (1, 1)
        assert bench.db.execute("SELECT count(*) FROM message_vector").get == 1


async def test_new_messages_are_embedded_after_a_reply(tmp_path: Path) -> None:
    """By the job of all background work."""
    async with embedding(tmp_path) as (bench, _), anyio.create_task_group() as tasks:
        maintenance = MaintenanceWorker(
            bench.calls, bench.index, lambda: bench.file, lambda: bench.now, quiet=0.0
        )
        say(bench, "Hello")
        tasks.start_soon(maintenance.run)
        await bench.until(lambda: covered(bench) == (1, 1))
        say(bench, "Hello again")
        maintenance.wake("work")
        await bench.until(lambda: covered(bench) == (2, 2))
        maintenance.close()


async def test_slow_answer_to_a_turn_does_not_end_the_backlog(tmp_path: Path) -> None:
    """It is gone on with a minute later, without another message; but only once in vain."""
    async with embedding(tmp_path) as (bench, _), anyio.create_task_group() as tasks:
        maintenance = MaintenanceWorker(
            bench.calls, bench.index, lambda: bench.file, lambda: bench.now, quiet=0.0
        )
        say(bench, "Hello")
        bench.index._rests["work"] = bench.now / 1000 + PAUSE_SECONDS
        tasks.start_soon(maintenance.run)
        await bench.idle()
        assert (bench.requests, maintenance._retry) == ([], bench.now + REST)
        bench.now += round(REST)
        maintenance.wake()
        await bench.until(lambda: covered(bench) == (1, 1))
        assert maintenance._retry == math.inf
        maintenance.vectors.failures["work"] = TRIES
        bench.index._rests["work"] = bench.now / 1000 + PAUSE_SECONDS
        maintenance.wake()
        await bench.idle()
        assert maintenance._retry == math.inf
        maintenance.close()


async def test_backlog_goes_on_by_itself_but_not_for_a_server_that_is_away(tmp_path: Path) -> None:
    """After a restart an agent has no process until a job or a turn starts it."""
    async with embedding(tmp_path) as (bench, _):
        maintenance = MaintenanceWorker(
            bench.calls, bench.index, lambda: bench.file, lambda: bench.now, quiet=0.0
        )
        bench.supervisor.slots["work"].worker = None
        (search,) = maintenance._list_searches({None})
        assert (search.embeds, search.backlog) == (True, True)
        maintenance.vectors.failures["work"] = TRIES
        assert maintenance._list_searches({None}) == []


async def test_coverage_is_known_while_a_job_runs(tmp_path: Path) -> None:
    """From its first request on, so that status can tell it."""
    async with embedding(tmp_path) as (bench, jobs):
        seen = []

        def look(request: EmbeddingRequest) -> EmbeddingResult:
            seen.append(jobs.coverage["work"])
            return answer(request)

        bench.serve(TEXTS_EMBED, EmbeddingRequest, look)
        say(bench, *(f"Message {number}" for number in range(2 * SLICE)))
        await jobs.embed_memory(bench.agent)
        assert seen == [(0, 2 * SLICE), (SLICE, 2 * SLICE)]


async def test_coverage_is_read_without_a_daemon(tmp_path: Path) -> None:
    """Of the agents whose messages are embedded."""
    assert embedding_jobs.list_coverage(tmp_path / "none.db", ()) == []
    async with embedding(tmp_path) as (bench, jobs):
        assert embedding_jobs.list_coverage(tmp_path / "none.db", bench.file.agents) == []
        say(bench, "Hello")
        found = embedding_jobs.list_coverage(address_of(tmp_path), bench.file.agents)
        assert found == [("work", (0, 1))]
        await jobs.embed_memory(bench.agent)
        found = embedding_jobs.list_coverage(address_of(tmp_path), bench.file.agents)
        assert found == [("work", (1, 1))]
