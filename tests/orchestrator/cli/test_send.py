"""`orchestrator send` and `orchestrator chat`, against a control socket."""

import json
import sys
from pathlib import Path

import anyio
from fakes.control_server import Answer, ControlServer, ask, command, serving
from fakes.time_limit import time_limit
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import (
    Ack,
    ChatOutcome,
    ChatSend,
    ChatView,
    ChatWait,
    StatusReport,
)
from orchestrator.errors import ExitCode
from thinker.protocol.peer import FAILED, RpcError

ANSWERED = ChatOutcome(state="done", texts=("one", "two"))
STATUS = StatusReport(
    ready=True,
    version="1",
    home="/h",
    config_file="/h/agents.json",
    agents=(),
    channels=(),
    config_errors=(),
    open_turns=0,
    inbox={},
)


def sent(server: ControlServer) -> list[ChatSend]:
    """What the daemon was sent, in order."""
    return [ChatSend.model_validate(params) for params in server.params(protocol.CHAT_SEND)]


async def test_reply_is_printed_part_by_part(tmp_path: Path) -> None:
    """The chat is the agent's own, unless one is named."""
    async with serving(
        tmp_path, {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: ANSWERED}
    ) as server:
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
    answers: dict[str, Answer] = {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: ANSWERED}
    async with serving(tmp_path, answers) as server:
        done = await ask(tmp_path, "send", "work", "--", "-5 + 3")
    assert done.exit_code == 0
    assert [said.text for said in sent(server)] == ["-5 + 3"]


async def test_dash_reads_the_text_from_stdin(tmp_path: Path) -> None:
    """Whole, with its line ends."""
    async with serving(
        tmp_path, {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: ANSWERED}
    ) as server:
        await ask(tmp_path, "send", "work", "-", said="a\nb\n")
    assert [said.text for said in sent(server)] == ["a\nb\n"]


async def test_outcome_as_json(tmp_path: Path) -> None:
    """One line, also for a message that was given up."""
    dead = ChatOutcome(state="dead", error="it failed three times")
    async with serving(tmp_path, {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: dead}):
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
    async with serving(tmp_path, {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: refused}):
        done = await ask(tmp_path, "send", "work", "hi")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "sorry\n", "no agent is bound\n")


async def test_wait_ends_after_the_timeout_and_says_that_the_message_is_kept(
    tmp_path: Path,
) -> None:
    """The daemon still answers it."""
    answers: dict[str, Answer] = {
        protocol.CHAT_SEND: Ack(),
        protocol.CHAT_WAIT: lambda _: anyio.sleep_forever(),
    }
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

    async with serving(tmp_path, {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: wait}) as server:
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

    answers: dict[str, Answer] = {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: wait}
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


def test_send_without_a_daemon_is_exit_3(tmp_path: Path) -> None:
    """Nothing is waited for when the message was never accepted."""
    refused = command(tmp_path, "send", "work", "hi")
    assert refused.exit_code == ExitCode.NOT_RUNNING


async def test_each_line_of_stdin_is_a_message_of_one_chat(tmp_path: Path) -> None:
    """Empty lines are none, /quit ends; the prompt is not printed into a pipe."""
    answers: dict[str, Answer] = {
        protocol.STATUS: STATUS,
        protocol.CHAT_SEND: Ack(),
        protocol.CHAT_WAIT: ANSWERED,
    }
    async with serving(tmp_path, answers) as server:
        done = await ask(tmp_path, "chat", "work", said="first\n\nsecond\n/quit\nnever\n")
    assert (done.exit_code, done.stdout) == (0, "one\ntwo\n" * 2)
    assert [said.text for said in sent(server)] == ["first", "second"]
    assert {said.chat for said in sent(server)} == {"work"}


async def test_chat_without_an_agent_leaves_the_choice_to_the_bindings(tmp_path: Path) -> None:
    """The last line needs no line end."""
    answers: dict[str, Answer] = {
        protocol.STATUS: STATUS,
        protocol.CHAT_SEND: Ack(),
        protocol.CHAT_WAIT: ANSWERED,
    }
    async with serving(tmp_path, answers) as server:
        await ask(tmp_path, "chat", said="first")
    (said,) = sent(server)
    assert (said.agent, said.chat) == (None, "console")


async def test_chat_goes_on_after_a_message_that_failed(tmp_path: Path) -> None:
    """The exit code tells a script that one did."""
    outcomes = iter([ChatOutcome(state="dead", error="poison"), ANSWERED])

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        return next(outcomes)

    answers: dict[str, Answer] = {
        protocol.STATUS: STATUS,
        protocol.CHAT_SEND: Ack(),
        protocol.CHAT_WAIT: wait,
    }
    async with serving(tmp_path, answers):
        done = await ask(tmp_path, "chat", "work", said="a\nb\n")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "one\ntwo\n", "poison\n")


async def test_refused_message_does_not_end_the_chat(tmp_path: Path) -> None:
    """The daemon's reason is shown."""
    refusal = RpcError(FAILED, "the disk is full")
    async with serving(tmp_path, {protocol.STATUS: STATUS, protocol.CHAT_SEND: refusal}) as server:
        done = await ask(tmp_path, "chat", "work", said="a\nb\n")
    assert (done.exit_code, done.stderr) == (1, "the disk is full\n" * 2)
    assert len(sent(server)) == 2


async def test_terminal_sees_the_answer_grow_and_then_rendered(tmp_path: Path) -> None:
    """Views of other chats are not shown; control characters are not obeyed."""
    reply = ChatOutcome(state="done", texts=("**bold** \x1b[2Jend",))

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        for peer in server.peers:
            peer.notify(protocol.CHAT_VIEW, ChatView(chat="other", text="elsewhere"))
            peer.notify(protocol.CHAT_VIEW, ChatView(chat="work", text="growing"))
        return reply

    answers: dict[str, Answer] = {
        protocol.STATUS: STATUS,
        protocol.CHAT_SEND: Ack(),
        protocol.CHAT_WAIT: wait,
    }
    async with serving(tmp_path, answers) as server:
        done = await ask(tmp_path, "chat", "work", said="hi\n", terminal=True)
    assert "growing" in done.stdout
    assert "elsewhere" not in done.stdout
    assert "bold" in done.stdout
    assert "**" not in done.stdout
    assert "\N{REPLACEMENT CHARACTER}[2Jend" in done.stdout


def test_chat_without_a_daemon_says_so_before_it_asks_anything(tmp_path: Path) -> None:
    """Exit 3."""
    refused = command(tmp_path, "chat", "work", said="hi\n")
    assert refused.exit_code == ExitCode.NOT_RUNNING
    assert refused.stdout == ""


async def test_bytes_on_stdin_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    """In the program itself, which sets up its own streams."""
    answers: dict[str, Answer] = {protocol.CHAT_SEND: Ack(), protocol.CHAT_WAIT: ANSWERED}
    program = [sys.executable, "-m", "orchestrator", "send", "--home", str(tmp_path), "work", "-"]
    async with serving(tmp_path, answers) as server:
        with time_limit():
            done = await anyio.run_process(program, input=b"caf\xe9")
    assert done.stdout == b"one\ntwo\n"
    assert [said.text for said in sent(server)] == ["caf\N{REPLACEMENT CHARACTER}"]
