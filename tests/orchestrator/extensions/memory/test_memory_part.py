"""The jobs in a daemon: woken by replies and by changes, ended before workers are waited for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
from anyio import to_thread
from fakes.agents_file import parsed
from fakes.background_work import AGENT, NOON, USED, BackgroundBench, background
from fakes.journal import job, sqlite
from fakes.time_limit import time_limit

from orchestrator.control.control_server import ControlServer
from orchestrator.extension import DaemonView
from orchestrator.extensions.memory.extension import MemoryExtension
from orchestrator.extensions.memory.memory_part import MemoryPart
from orchestrator.extensions.memory.memory_requests import (
    SESSION_COMPACT,
    CompactionRequest,
    CompactionResult,
)
from orchestrator.extensions.memory.message_vectors import Coverage
from orchestrator.findings import Finding
from orchestrator.journal.turns import sessions
from orchestrator.placement import SingleNode
from orchestrator.settings import Settings
from thinker.protocol.messages import AssistantMessage, Message, UserMessage

LARGE = {"compaction": {"thresholdTokens": 100}, "factExtraction": {"enabled": False}}


def make_view(bench: BackgroundBench) -> DaemonView:
    """A daemon's view, of which the part needs no more."""
    unused: Any = None
    machine: Any = SimpleNamespace(in_thread=to_thread.run_sync, clock=lambda: bench.now)
    turns: Any = SimpleNamespace(inputs=SimpleNamespace(embeddings=bench.index))
    view = DaemonView(
        settings=unused,
        environ={},
        store=bench.store,
        machine=machine,
        configuration=unused,
        adapters={},
        stack=unused,
        tasks=unused,
        stopping=anyio.Event(),
    )
    view.placement = SingleNode()
    view.get_agents_file = lambda: bench.file
    view.calls, view.turns = bench.calls, turns
    view.control = ControlServer(unused, unused, unused, unused, wake=lambda: None)
    return view


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[BackgroundBench, MemoryPart]]:
    """A part whose jobs have found nothing to do."""
    async with background(folder, **LARGE) as bench, anyio.create_task_group() as tasks:
        bench.serve(
            SESSION_COMPACT,
            CompactionRequest,
            lambda _: CompactionResult(summary="They talked.", **USED),
        )
        part = MemoryExtension().build_part(make_view(bench))
        assert isinstance(part, MemoryPart)
        await part.open()
        tasks.start_soon(part.run)
        await bench.idle()
        yield bench, part
        tasks.cancel_scope.cancel()


def talk(bench: BackgroundBench) -> int:
    """Make a session of ``work`` that wants a summary, and return its id."""
    question = UserMessage(content="Question".ljust(60))
    said: list[Message] = [question, AssistantMessage(content="An answer.")]
    with job(bench.db):
        session = sessions.open_session(bench.db, "work", "c", NOON)
        for number in range(8):
            sessions.append_messages(bench.db, session, f"c{number}", said, NOON)
    return session


async def test_reply_has_its_session_looked_at(tmp_path: Path) -> None:
    """The daemon calls the listeners after each."""
    async with running(tmp_path) as (bench, part):
        session = talk(bench)
        for listener in part.list_reply_listeners():
            listener("work")
        await bench.until(lambda: sessions.load_summary(bench.db, session)[0] == "They talked.")


async def test_changed_file_has_all_sessions_looked_at_but_not_an_edited_prompt(
    tmp_path: Path,
) -> None:
    """An edit of a prompt keeps all other parts of the file as they are."""
    async with running(tmp_path) as (bench, part):
        session, before = talk(bench), bench.file
        edited = bench.agent.model_copy(update={"system_prompt": "Be brief."})
        bench.file = before.replace_agent(edited)
        part.adopt_configuration(before, bench.file)
        assert part._maintenance._changed == set()
        part._maintenance.vectors.failures["work"] = 2
        bench.index.problems["work"] = "the server is away"
        part.adopt_configuration(bench.file, before.model_copy(deep=True))
        assert (part._maintenance.vectors.failures, bench.index.problems) == ({}, {})
        assert part._maintenance._changed == {None}
        await bench.until(lambda: sessions.load_summary(bench.db, session)[0] == "They talked.")


async def test_status_says_how_far_vectors_have_come_and_what_is_missing(tmp_path: Path) -> None:
    """Of agents that have embeddings still; a complete one is not worth a line."""
    async with running(tmp_path) as (bench, part):
        part._maintenance.vectors.coverage.update(
            work=Coverage(1204, 5882), home=Coverage(1, 2), gone=Coverage(0, 1)
        )
        bench.index.problems.update(work="no answer within 1 s", home="the key is wrong")
        model = {"provider": "ollama", "model": "e", "messages": True}
        bench.file = parsed(AGENT | {"embeddings": model}, AGENT | {"agentId": "home"}).file
        assert list(part.list_hints()) == [
            "embeddings of agent work: no answer within 1 s; memories are found by words alone",
            "memory: vectors of 1,204 of 5,882 messages (20 %) of agent work",
        ]
        part._maintenance.vectors.coverage["work"] = Coverage(2, 2)
        bench.index.problems.clear()
        assert list(part.list_hints()) == []


def test_doctor_says_how_far_vectors_have_come(tmp_path: Path) -> None:
    """Of each agent whose messages are embedded, without a daemon as well."""
    with sqlite(tmp_path) as db, job(db):
        session = sessions.open_session(db, "work", "c", NOON)
        sessions.append_messages(db, session, "t", [UserMessage(content="Hello")], NOON)
    settings = Settings(home=tmp_path)
    model = {"provider": "ollama", "model": "e", "messages": True}
    file = parsed(AGENT | {"embeddings": model}, AGENT | {"agentId": "home"}).file
    found = list(MemoryExtension().list_findings(settings, file, None))
    assert found == [Finding("memory of work", "vectors of 0 of 1 messages (0 %)")]
    assert list(MemoryExtension().list_findings(settings, None, None)) == []


async def test_stop_of_the_daemon_lets_go_of_the_worker(tmp_path: Path) -> None:
    """A summary that a model still writes is begun again by the next daemon."""
    async with running(tmp_path) as (bench, part):
        bench.held = anyio.Event()
        session = talk(bench)
        for listener in part.list_reply_listeners():
            listener("work")
        await bench.until(lambda: len(bench.requests) == 1)
        worker = bench.supervisor.slots["work"].worker
        assert worker is not None
        assert worker.users == 1
        part.daemon.stopping.set()
        with time_limit():
            while worker.users:
                await anyio.lowlevel.checkpoint()
        assert sessions.load_summary(bench.db, session)[0] is None
