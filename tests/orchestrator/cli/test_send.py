"""`orchestrator send`, against a control socket."""

import json
import sys
from pathlib import Path

import anyio
from fakes.control_server import SCENE, ControlServer, ask, command, serving, talking
from fakes.time_limit import time_limit
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import (
    ChatEntry,
    ChatEvent,
    ChatOutcome,
    ChatSend,
    ChatWait,
)
from orchestrator.errors import ExitCode

ANSWERED = ChatOutcome(state="done", texts=("one", "two"))


def sent(server: ControlServer) -> list[ChatSend]:
    """What the daemon was sent, in order."""
    return [ChatSend.model_validate(params) for params in server.params(protocol.CHAT_SEND)]


async def test_reply_is_printed_part_by_part(tmp_path: Path) -> None:
    """The chat is the agent's own, unless one is named."""
    async with serving(tmp_path, talking(ANSWERED)) as server:
        first = await ask(tmp_path, "send", "work", "hi there")
        await ask(tmp_path, "send", "work", "--chat", "c", "hi")
    one, other = sent(server)
    assert (first.exit_code, first.stdout, first.stderr) == (0, "one\ntwo\n", "")
    assert (one.agent, one.chat, one.text) == ("work", "work", "hi there")
    assert (other.agent, other.chat) == ("work", "c")
    assert one.message != other.message
    waited = ChatWait.model_validate(server.params(protocol.CHAT_WAIT)[0])
    assert waited.message == one.message


async def test_text_that_looks_like_an_option_goes_after_two_dashes(tmp_path: Path) -> None:
    """As in any other program."""
    answers = talking(ANSWERED)
    async with serving(tmp_path, answers) as server:
        done = await ask(tmp_path, "send", "work", "--", "-5 + 3")
    assert done.exit_code == 0
    assert [said.text for said in sent(server)] == ["-5 + 3"]


async def test_dash_reads_the_text_from_stdin(tmp_path: Path) -> None:
    """Whole, with its line ends."""
    async with serving(tmp_path, talking(ANSWERED)) as server:
        await ask(tmp_path, "send", "work", "-", said="a\nb\n")
    assert [said.text for said in sent(server)] == ["a\nb\n"]


async def test_outcome_as_json(tmp_path: Path) -> None:
    """One line, also for a message that was given up."""
    dead = ChatOutcome(state="dead", error="it failed three times")
    async with serving(tmp_path, talking(dead)):
        done = await ask(tmp_path, "send", "work", "hi", "--json")
    assert done.exit_code == ExitCode.FAILED
    assert json.loads(done.stdout) == {
        "state": "dead",
        "texts": [],
        "error": "it failed three times",
    }


async def test_message_that_got_no_reply_is_exit_1_with_the_reason(tmp_path: Path) -> None:
    """The texts that the chat got are still printed."""
    refused = ChatOutcome(state="cancelled", texts=("sorry",), error="no agent is bound")
    async with serving(tmp_path, talking(refused)):
        done = await ask(tmp_path, "send", "work", "hi")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "sorry\n", "no agent is bound\n")


async def test_wait_ends_after_the_timeout_and_says_that_the_message_is_kept(
    tmp_path: Path,
) -> None:
    """The daemon still answers it."""
    answers = talking(lambda _: anyio.sleep_forever())
    async with serving(tmp_path, answers):
        done = await ask(tmp_path, "send", "work", "hi", "--timeout", "0.5")
    assert done.exit_code == ExitCode.FAILED
    assert done.stderr.startswith("no reply within 0.5 s; ")


async def test_message_is_asked_for_again_while_it_is_pending(tmp_path: Path) -> None:
    """A single wait is bounded; the message is not sent twice for it."""
    outcomes = iter([ChatOutcome(state="pending"), ChatOutcome(state="pending"), ANSWERED])

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        return next(outcomes)

    async with serving(tmp_path, talking(wait)) as server:
        done = await ask(tmp_path, "send", "work", "hi")
    assert done.stdout == "one\ntwo\n"
    assert len(server.params(protocol.CHAT_WAIT)) == 3
    assert len(sent(server)) == 1


async def test_restart_of_the_daemon_is_waited_out_with_the_same_message(tmp_path: Path) -> None:
    """The daemon knows it again by its id, so it is neither lost nor doubled."""
    waiting, replied, replies = anyio.Event(), anyio.Event(), []

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        waiting.set()
        await anyio.sleep_forever()
        return ANSWERED

    async def run() -> None:
        replies.append(await ask(tmp_path, "send", "work", "hi"))
        replied.set()

    answers = talking(wait)
    async with anyio.create_task_group() as tasks:
        async with serving(tmp_path, answers) as first:
            tasks.start_soon(run)
            with time_limit():
                await waiting.wait()
        async with serving(tmp_path, answers | {protocol.CHAT_WAIT: ANSWERED}) as second:
            with time_limit():
                await replied.wait()
    assert replies[0].stdout == "one\ntwo\n"
    assert sent(first) == sent(second)


async def test_waiting_approval_is_told_once_on_stderr(tmp_path: Path) -> None:
    """A message that waits for a decision looks like one that hangs, if nothing is said."""
    question = ChatEntry(
        position=3, text="May it?", markdown=True, at=0, source="notice", asks="c0de"
    )
    asking = SCENE.model_copy(update={"questions": (question,)})

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        server.tell(ChatEvent(chat="work", message=question))
        return ANSWERED

    async with serving(tmp_path, talking(wait) | {protocol.CHAT_WATCH: asking}) as server:
        done = await ask(tmp_path, "send", "work", "hi")
    assert done.stdout == "one\ntwo\n"
    assert done.stderr.count("May it?") == 1
    assert "orchestrator approvals grant c0de" in done.stderr


async def test_approval_of_an_earlier_message_is_told_as_such(tmp_path: Path) -> None:
    """The new message waits behind it; a question of its own says nothing of that."""
    older = ChatEntry(
        position=3,
        text="May it?\n```\ntool: a\n```",
        markdown=True,
        at=0,
        source="notice",
        asks="old",
    )
    asking = SCENE.model_copy(update={"questions": (older,)})

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        server.tell(ChatEvent(chat="work", message=older.model_copy(update={"asks": "new"})))
        return ANSWERED

    async with serving(tmp_path, talking(wait) | {protocol.CHAT_WATCH: asking}) as server:
        done = await ask(tmp_path, "send", "work", "hi")
    first, *question, _ = done.stderr.split("\n")
    assert first == (
        "an earlier message of this chat waits for approval old; yours is queued behind it:"
    )
    assert question == [
        "May it?",
        "tool: a",
        "in another shell: orchestrator approvals grant old (or deny old)",
        "May it?",
        "tool: a",
        "in another shell: orchestrator approvals grant new (or deny new)",
    ]


async def test_unknown_agent_is_exit_64_with_the_names_of_the_agents(tmp_path: Path) -> None:
    """Nothing was sent."""
    nobody = SCENE.model_copy(update={"agent_id": None})
    async with serving(tmp_path, talking(ANSWERED) | {protocol.CHAT_WATCH: nobody}) as server:
        done = await ask(tmp_path, "send", "wrok", "hi")
    assert done.exit_code == ExitCode.USAGE
    assert done.stderr == "unknown agent 'wrok'; agents.json has: home, work\n"
    assert sent(server) == []


def test_send_without_a_daemon_is_exit_3(tmp_path: Path) -> None:
    """Nothing is waited for when the message was never accepted."""
    refused = command(tmp_path, "send", "work", "hi")
    assert refused.exit_code == ExitCode.NOT_RUNNING


async def test_bytes_on_stdin_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    """In the program itself, which sets up its own streams."""
    answers = talking(ANSWERED)
    program = [sys.executable, "-m", "orchestrator", "send", "--home", str(tmp_path), "work", "-"]
    async with serving(tmp_path, answers) as server:
        with time_limit():
            done = await anyio.run_process(program, input=b"caf\xe9")
    assert done.stdout == b"one\ntwo\n"
    assert [said.text for said in sent(server)] == ["caf\N{REPLACEMENT CHARACTER}"]
