"""The prompt, with keys from a pipe and a terminal in memory, against a control socket."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path

import anyio
import pytest
from fakes.control_server import SCENE, Answer, ControlServer, serving, talking
from fakes.time_limit import time_limit
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from pydantic import JsonValue

from orchestrator.cli import typed_messages
from orchestrator.control import protocol
from orchestrator.control.protocol import (
    Ack,
    ApprovalDecision,
    ChatEntry,
    ChatEvent,
    ChatOutcome,
    ChatScene,
    ChatSend,
    ChatWait,
    ChatWatch,
)
from orchestrator.errors import NotRunningError, UnknownAgentError
from orchestrator.extensions.terminal.repl import Repl
from orchestrator.settings import Settings
from orchestrator.wakeup import Wakeup
from thinker.protocol.peer import FAILED, RpcError

UP, ALT_ENTER, CTRL_C, CTRL_D, CTRL_R = "\x1b[A", "\x1b\r", "\x03", "\x04", "\x12"
PASTE = "\x1b[200~one\ntwo\x1b[201~"
ESCAPES = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[=>])")
QUESTION = ChatEntry(position=1, text="May it?", markdown=True, at=0, source="notice", asks="c0de")


class Screen(StringIO):
    """A terminal's text without its escapes; those who wait for a text look at each write."""

    encoding = "utf-8"

    def __init__(self) -> None:
        super().__init__()
        self.changes = Wakeup()

    def write(self, text: str) -> int:
        """Take what the program writes."""
        written = super().write(text)
        self.changes.wake()
        return written

    @property
    def text(self) -> str:
        """All that was ever written."""
        return ESCAPES.sub("", self.getvalue()).replace("\r", "")

    async def shows(self, text: str, times: int = 1) -> None:
        """Wait until a text was written so often."""
        with time_limit():
            while self.text.count(text) < times:
                await self.changes.changed.wait()


class Session:
    """A conversation that goes on: its keys, its screen, and the daemon."""

    def __init__(self, server: ControlServer, keys: PipeInput, screen: Screen) -> None:
        self.server, self.screen = server, screen
        self._keys = keys
        self.ended = anyio.Event()

    def type(self, *keys: str) -> None:
        """Press keys."""
        self._keys.send_text("".join(keys))

    async def sent(self, *texts: str) -> None:
        """Wait until the daemon got exactly these messages."""
        with time_limit():
            while self.texts != list(texts):
                await self.screen.changes.changed.wait()

    @property
    def texts(self) -> list[str]:
        """What the daemon was sent."""
        sent = self.server.params(protocol.CHAT_SEND)
        return [ChatSend.model_validate(params).text for params in sent]

    def reply(self, text: str, **fields: object) -> None:
        """Write a message to the chat."""
        entry = ChatEntry(
            position=9, text=text, markdown=True, at=0, source="answer", agent_id="work"
        )
        entry = entry.model_copy(update=fields)
        self.server.tell(ChatEvent(chat="work", message=entry))


def echoing() -> dict[str, Answer]:
    """A daemon that has each message answered at once."""
    return talking(ChatOutcome(state="done"))


@asynccontextmanager
async def conversation(
    home: Path, answers: dict[str, Answer], agent: str | None = "work"
) -> AsyncIterator[Session]:
    """A conversation with a daemon that answers so; the block ends it unless it has ended."""
    screen = Screen()
    output = Vt100_Output(screen, lambda: Size(rows=24, columns=80), term="xterm")
    async with serving(home, answers) as server:
        with create_pipe_input() as keys, create_app_session(input=keys, output=output):
            session = Session(server, keys, screen)

            async def run() -> None:
                await Repl(Settings(home=home), "work", agent).run()
                session.ended.set()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
                await screen.shows(">")
                yield session
                if not session.ended.is_set():
                    session.type(CTRL_C, CTRL_C, CTRL_C)
                with time_limit():
                    await session.ended.wait()


async def test_enter_sends_and_alt_enter_and_pasted_text_make_more_lines(tmp_path: Path) -> None:
    """Each message is sent whole and once; the first lines say who answers."""
    async with conversation(tmp_path, echoing()) as session:
        session.type("hello\r")
        await session.sent("hello")
        session.type("a", ALT_ENTER, "b\r")
        await session.sent("hello", "a\nb")
        session.type(PASTE)
        session.type("\r")
        await session.sent("hello", "a\nb", "one\ntwo")
    assert "work (groq llama) in console:work" in session.screen.text


async def test_typed_messages_are_found_by_arrow_and_search_in_the_next_conversation(
    tmp_path: Path,
) -> None:
    """They are in a private file; empty input is none."""
    async with conversation(tmp_path, echoing()) as session:
        session.type("first thing\r")
        await session.sent("first thing")
        session.type("\r", "second\r")
        await session.sent("first thing", "second")
    async with conversation(tmp_path, echoing()) as session:
        session.type(UP, "!\r")
        await session.sent("second!")
        session.type(CTRL_R, "thing", "\r", "\r")
        await session.sent("second!", "first thing")
    path = Settings(home=tmp_path).paths.chat_history
    assert path.stat().st_mode & 0o777 == 0o600
    assert typed_messages.load_messages(path) == [
        "first thing",
        "second!",
        "second",
        "first thing",
    ]


async def test_question_is_answered_at_the_prompt_and_the_draft_comes_back(
    tmp_path: Path,
) -> None:
    """What was being typed cannot grant it; neither can another text; answers are not kept."""
    decided = Wakeup()
    decisions = list[ApprovalDecision]()

    async def decide(params: JsonValue) -> Ack:
        decisions.append(ApprovalDecision.model_validate(params))
        decided.wake()
        return Ack()

    async with conversation(tmp_path, echoing() | {protocol.APPROVAL_DECIDE: decide}) as session:
        session.type("y")
        await session.screen.shows("y")
        session.server.tell(ChatEvent(chat="work", message=QUESTION))
        await session.screen.shows("Run it once? y/n >")
        assert "May it?" in session.screen.text
        session.type("\r", "perhaps\r")
        await session.screen.shows("waits for your answer")
        changed = decided.changed
        assert decisions == []
        session.type("yes\r")
        with time_limit():
            await changed.wait()
        session.reply("Approved.", settles="c0de", source="notice")
        await session.screen.shows("Approved.")
        session.type("es please\r")
        await session.sent("yes please")
    assert decisions == [ApprovalDecision(code="c0de", granted=True)]
    assert typed_messages.load_messages(Settings(home=tmp_path).paths.chat_history) == [
        "yes please"
    ]


async def test_refused_reply_to_a_question_does_not_come_back(tmp_path: Path) -> None:
    """The next prompt begins with what was typed before the question, here nothing."""
    decided = Wakeup()

    async def decide(_: JsonValue) -> Ack:
        decided.wake()
        return Ack()

    async with conversation(tmp_path, echoing() | {protocol.APPROVAL_DECIDE: decide}) as session:
        session.server.tell(ChatEvent(chat="work", message=QUESTION))
        await session.screen.shows("Run it once? y/n >")
        session.type("maybe\r")
        await session.screen.shows("waits for your answer")
        changed = decided.changed
        session.type("y\r")
        with time_limit():
            await changed.wait()
        session.reply("Approved.", settles="c0de", source="notice")
        await session.screen.shows("Approved.")
        session.type("thanks\r")
        await session.sent("thanks")


async def test_question_that_is_decided_elsewhere_leaves_the_prompt(tmp_path: Path) -> None:
    """Also one that was open when the conversation began."""
    asking = SCENE.model_copy(update={"questions": (QUESTION,)})
    async with conversation(tmp_path, echoing() | {protocol.CHAT_WATCH: asking}) as session:
        await session.screen.shows("Run it once? y/n >")
        session.reply("Denied by ann.", settles="c0de", source="notice")
        await session.screen.shows("Denied by ann.")
        session.type("n\r")
        await session.sent("n")


async def test_decision_that_comes_too_late_says_so(tmp_path: Path) -> None:
    """The daemon's reason is shown."""
    asking = SCENE.model_copy(update={"questions": (QUESTION,)})
    late = RpcError(FAILED, "no call waits with the code 'c0de'")
    answers = echoing() | {protocol.CHAT_WATCH: asking, protocol.APPROVAL_DECIDE: late}
    async with conversation(tmp_path, answers) as session:
        await session.screen.shows("Run it once? y/n >")
        session.type("n\r")
        await session.screen.shows("no call waits with the code 'c0de'")


async def test_interrupt_stops_the_answer_and_the_next_one_leaves(tmp_path: Path) -> None:
    """The agent's chat gets its own command; typed text is cleared first."""
    stopped = anyio.Event()

    async def wait(params: JsonValue) -> ChatOutcome:
        asked = ChatWait.model_validate(params).message
        first = session.server.params(protocol.CHAT_SEND)[0]
        if asked == ChatSend.model_validate(first).message:
            await stopped.wait()
            return ChatOutcome(state="cancelled", error="stopped by console:operator")
        stopped.set()
        return ChatOutcome(state="done")

    async with conversation(tmp_path, talking(wait)) as session:
        session.type("think\r")
        await session.screen.shows("work works on it")
        session.type("more", CTRL_C, CTRL_C)
        await session.sent("think", "/stop")
        await session.screen.shows("— stopped by console:operator —")
        session.type(CTRL_C)
        with time_limit():
            await session.ended.wait()


@pytest.mark.parametrize("keys", [CTRL_D, "/quit\r", CTRL_C + CTRL_C])
async def test_conversation_ends_by_key_and_by_command(tmp_path: Path, keys: str) -> None:
    """Nothing is sent for it."""
    async with conversation(tmp_path, echoing()) as session:
        session.type(keys)
        with time_limit():
            await session.ended.wait()
    assert session.texts == []


async def test_message_that_arrives_by_itself_is_printed_above_what_is_typed(
    tmp_path: Path,
) -> None:
    """The typed text stays; hostile text drives no terminal."""
    async with conversation(tmp_path, echoing()) as session:
        session.type("half a sen")
        session.reply("Water \x1b]0;owned\x07the *plants*.", source="task")
        await session.screen.shows("the plants.")
        session.type("tence\r")
        await session.sent("half a sentence")
    assert "from a scheduled task" in session.screen.text
    assert "\x1b]0;owned" not in session.screen.getvalue()


async def test_restart_is_told_and_the_message_is_waited_for_again(tmp_path: Path) -> None:
    """The new daemon is asked for what came after the last message that was seen."""
    asked = anyio.Event()

    async def wait(params: JsonValue) -> ChatOutcome:
        del params
        asked.set()
        await anyio.sleep_forever()
        return ChatOutcome(state="done")

    async with conversation(tmp_path, talking(wait)) as session:
        session.type("hello\r")
        with time_limit():
            await asked.wait()
        session.reply("seen", position=41)
        await session.screen.shows("seen")
        asked = anyio.Event()
        for peer in session.server.peers:
            peer.close()
        await session.screen.shows("the daemon went away")
        await session.screen.shows("the daemon is back")
        with time_limit():
            await asked.wait()
    asked_for = session.server.params
    watches = [ChatWatch.model_validate(params) for params in asked_for(protocol.CHAT_WATCH)]
    waits = [ChatWait.model_validate(params) for params in asked_for(protocol.CHAT_WAIT)]
    assert [watch.after for watch in watches] == [None, 41]
    assert waits[0] == waits[1]
    assert session.texts[0] == "hello"


async def test_unknown_agent_ends_it_before_the_prompt(tmp_path: Path) -> None:
    """With the names of the agents."""
    nobody: ChatScene = SCENE.model_copy(update={"agent_id": None})
    with create_pipe_input() as keys, create_app_session(input=keys):
        async with serving(tmp_path, echoing() | {protocol.CHAT_WATCH: nobody}):
            with pytest.raises(UnknownAgentError, match=r"agents\.json has: home, work"):
                await Repl(Settings(home=tmp_path), "wrok", "wrok").run()


async def test_without_a_daemon_there_is_no_prompt(tmp_path: Path) -> None:
    """As in every command."""
    repl = Repl(Settings(home=tmp_path), "work", "work")
    with pytest.raises(NotRunningError):
        await repl.run()
