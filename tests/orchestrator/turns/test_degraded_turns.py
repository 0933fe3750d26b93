"""Turns that did without something: their operator and their chat are told once."""

from collections.abc import Sequence
from pathlib import Path

from fakes.turn_bench import TurnBench, done, echo, response, turn_bench

from orchestrator.agentsfile import AgentDefinition
from orchestrator.journal.inspect import chat_history, trace
from orchestrator.processes.worker import WorkerHost
from orchestrator.tools.remote_tools import NoRemoteTools
from thinker.protocol.degradations import Degradation
from thinker.protocol.messages import AssistantMessage
from thinker.protocol.methods import StopReason, TurnResult, TurnRun
from thinker.protocol.notices import STOP_TEXTS

OTHER = Degradation(kind="model", subject="a/b", what="failed, and c/d answered", words="HTTP 503")
AWAY = Degradation(kind="server", subject="mail", what="has not listed its tools yet", words="no")
NOTIFIED = {
    "agentId": "work",
    "costControls": {"notifyChannel": "telegram", "notifyChatId": "9"},
}


class AwayServers(NoRemoteTools):
    """Servers that never list their tools."""

    has_servers = True

    async def wait_until_ready(self, agent: AgentDefinition) -> tuple[Degradation, ...]:
        """Wait no longer."""
        del agent
        return (AWAY,)


async def answer_with_less(run: TurnRun, host: WorkerHost) -> TurnResult:
    """Another model answers."""
    step = response(run, "yes", ends=done("yes"))
    await host.commit_step(step.model_copy(update={"degraded": (OTHER,)}))
    return done("yes")


async def fail_with_less(run: TurnRun, host: WorkerHost) -> TurnResult:
    """Neither model answers."""
    del run, host
    reason = StopReason.MODEL_ERROR
    return TurnResult(text=STOP_TEXTS[reason], stop_reason=reason, notice=True, degraded=(OTHER,))


async def look_first(run: TurnRun, host: WorkerHost) -> TurnResult:
    """Answer in a second step."""
    await host.commit_step(response(run, "", ("get_time", {})))
    await host.call_tool(2)
    return await echo(run, host)


async def hear(bench: TurnBench, count: int, *texts: str) -> Sequence[tuple[str, str]]:
    """The messages to all chats after the person has said these, one after the other."""
    for text in texts:
        bench.hears(text)
        await bench.until_state("closed")
    await bench.channel.until(count)
    return bench.channel.sent


def list_trace(bench: TurnBench) -> str:
    """What the trace says about the newest turn and its steps."""
    turn = str(bench.db.execute("SELECT id FROM turn ORDER BY rowid DESC LIMIT 1").get)
    events = trace.load_turn_trace(bench.db, turn).events
    return "\n".join(event.detail for event in events if event.kind in ("turn", "step"))


async def test_operator_hears_once_that_another_model_answers(tmp_path: Path) -> None:
    """With the words of the provider; the person gets the answer alone."""
    async with turn_bench(tmp_path, NOTIFIED) as bench:
        bench.scripted(answer_with_less)
        sent = await hear(bench, 3, "one", "two")
        assert [text for chat, text in sent if chat == "7"] == ["yes", "yes"]
        (told,) = [text for chat, text in sent if chat == "9"]
        assert "Agent 'work' answers with less: a/b failed, and c/d answered (HTTP 503)" in told
        assert "with less: a/b failed, and c/d answered (HTTP 503)" in list_trace(bench)


async def test_failed_turn_says_what_it_did_without(tmp_path: Path) -> None:
    """It has no step that could."""
    async with turn_bench(tmp_path, NOTIFIED) as bench:
        bench.scripted(fail_with_less)
        sent = await hear(bench, 2, "one")
        assert any(chat == "9" and "a/b failed" in text for chat, text in sent)
        assert "stop reason model_error, with less: a/b failed" in list_trace(bench)


async def test_person_reads_once_which_tools_are_missing(tmp_path: Path) -> None:
    """A note of the daemon, which the model never reads."""
    async with turn_bench(tmp_path) as bench:
        bench.tools.servers = AwayServers()
        worker = bench.scripted(look_first)
        sent = await hear(bench, 3, "one", "two")
        note = "⚠️ I have none of the tools of 'mail' now, and answer without them."
        assert sorted(text for _, text in sent) == ["echo: one", "echo: two", note]
        assert "with less: mail has not listed its tools yet (no)" in list_trace(bench)
        said = [message.content for message in worker.runs[-1].history]
        assert (said[0], said[-1], len(said)) == ("one", "echo: one", 4)
        assert all(not isinstance(m, AssistantMessage) for m in worker.runs[-1].messages)
        talks = chat_history.load_history_page(bench.db, "telegram/1/7/").turns
        shown = {line.text: line.notice for talk in talks for line in talk.said}
        assert shown == {"echo: one": False, "echo: two": False, note: True}
