"""`orchestrator chat` without a terminal: each line is a message."""

from pathlib import Path

from fakes.control_server import SCENE, ControlServer, ask, command, serving, talking
from pydantic import JsonValue

from orchestrator.control import protocol
from orchestrator.control.protocol import ChatEntry, ChatOutcome, ChatSend
from orchestrator.errors import ExitCode
from thinker.protocol.peer import FAILED, RpcError

ANSWERED = ChatOutcome(state="done", texts=("one", "two"))
QUESTION = ChatEntry(
    position=3, text="May it \x1b[2Jrun?", markdown=True, at=0, source="notice", asks="c0de"
)


def sent(server: ControlServer) -> list[ChatSend]:
    """What the daemon was sent, in order."""
    return [ChatSend.model_validate(params) for params in server.params(protocol.CHAT_SEND)]


async def test_each_line_of_stdin_is_a_message_of_one_chat(tmp_path: Path) -> None:
    """Empty lines are none, /quit ends; the prompt is not printed into a pipe."""
    async with serving(tmp_path, talking(ANSWERED)) as server:
        done = await ask(tmp_path, "chat", "work", said="first\n\nsecond\n/quit\nnever\n")
    assert (done.exit_code, done.stdout) == (0, "one\ntwo\n" * 2)
    assert [said.text for said in sent(server)] == ["first", "second"]
    assert {said.chat for said in sent(server)} == {"work"}


async def test_chat_without_an_agent_leaves_the_choice_to_the_bindings(tmp_path: Path) -> None:
    """The last line needs no line end."""
    async with serving(tmp_path, talking(ANSWERED)) as server:
        await ask(tmp_path, "chat", said="first")
    (said,) = sent(server)
    assert (said.agent, said.chat) == (None, "console")


async def test_chat_goes_on_after_a_message_that_failed(tmp_path: Path) -> None:
    """The exit code tells a script that one did."""
    outcomes = iter([ChatOutcome(state="dead", error="poison"), ANSWERED])

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        return next(outcomes)

    async with serving(tmp_path, talking(wait)):
        done = await ask(tmp_path, "chat", "work", said="a\nb\n")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "one\ntwo\n", "poison\n")


async def test_refused_message_does_not_end_the_chat(tmp_path: Path) -> None:
    """The daemon's reason is shown."""
    refusal = RpcError(FAILED, "the disk is full")
    async with serving(tmp_path, talking(ANSWERED) | {protocol.CHAT_SEND: refusal}) as server:
        done = await ask(tmp_path, "chat", "work", said="a\nb\n")
    assert (done.exit_code, done.stderr) == (1, "the disk is full\n" * 2)
    assert len(sent(server)) == 2


def test_chat_without_a_daemon_says_so_before_it_asks_anything(tmp_path: Path) -> None:
    """Exit 3."""
    refused = command(tmp_path, "chat", "work", said="hi\n")
    assert refused.exit_code == ExitCode.NOT_RUNNING
    assert refused.stdout == ""


async def test_call_that_waits_for_approval_is_told_on_stderr(tmp_path: Path) -> None:
    """With what to type elsewhere; stdout has the replies alone."""
    asking = SCENE.model_copy(update={"questions": (QUESTION,)})
    async with serving(tmp_path, talking(ANSWERED) | {protocol.CHAT_WATCH: asking}):
        done = await ask(tmp_path, "chat", "work", said="hi\n")
    assert done.stdout == "one\ntwo\n"
    assert "May it \N{REPLACEMENT CHARACTER}[2Jrun?" in done.stderr
    assert "orchestrator approvals grant c0de" in done.stderr


async def test_unknown_agent_is_exit_64_with_the_names_of_the_agents(tmp_path: Path) -> None:
    """Before anything is typed."""
    unbound = SCENE.model_copy(update={"agent_id": None, "agents_left_out": 9_998})
    async with serving(tmp_path, talking(ANSWERED) | {protocol.CHAT_WATCH: unbound}) as server:
        done = await ask(tmp_path, "chat", "wrok", said="")
    assert done.exit_code == ExitCode.USAGE
    named = "home, work and 9,998 more"
    assert done.stderr == f"unknown agent 'wrok'; agents.json has: {named}\n"
    assert sent(server) == []
