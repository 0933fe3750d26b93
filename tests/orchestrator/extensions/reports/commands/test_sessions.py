"""`orchestrator sessions`: conversations listed, printed and ended."""

import json
from pathlib import Path

import pytest
from fakes.control_server import ask, command, serving
from fakes.journal import job, opened

from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from orchestrator.extensions.reports.reports_part import SESSION_END
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage

KEY = "telegram/42/555/"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two agents in one chat, one of which has answered with a tool."""
    with opened(tmp_path) as db, job(db):
        talk(db, sessions.open_session(db, "home", KEY, 0))
        sessions.open_session(db, "work", KEY, 0)
        sessions.open_session(db, "home", "console/local/x/", 0)
    return tmp_path


def talk(db: Database, session: int) -> None:
    """A question, a call of a tool and an answer."""
    call = ToolCall(id="c", name="get_time", arguments={"zone": "UTC"})
    messages: list[Message] = [
        UserMessage(content="What time?\nSay it.", sender="Ann"),
        AssistantMessage(tool_calls=(call,)),
        ToolResult(call_id="c", name="get_time", content="noon " * 200),
        AssistantMessage(content="It is noon\x1b[2J."),
    ]
    sessions.append_messages(db, session, "019a0000deadbeef12345678", messages, 60_000)


def test_conversations_are_listed_the_newest_first_with_their_messages(home: Path) -> None:
    """The chat as every command takes it; one agent can be chosen."""
    rows = [line.split() for line in command(home, "sessions", "list").stdout.splitlines()]
    assert rows[2] == ["1", "home", "telegram:555", "4", "1970-01-01", "00:01", "open"]
    assert len(rows) == 6
    shown = json.loads(command(home, "sessions", "list", "--agent", "work", "--json").stdout)
    (found,) = shown["sessions"]
    assert (found["chat"], found["messages"], found["endedAt"]) == ("telegram:555", 0, None)


def test_transcript_names_who_spoke_and_shows_calls_and_their_results_cut(home: Path) -> None:
    """Nothing in it can drive the terminal."""
    shown = command(home, "sessions", "show", "1").stdout
    assert "conversation 1 of home in telegram:555\n4 messages since 1970-01-01 00:00 UTC" in shown
    assert "1970-01-01 00:01  Ann [12345678]\n  What time?\n  Say it.\n" in shown
    assert '-> get_time {"zone": "UTC"}' in shown
    assert "get_time [12345678]\n  noon noon" in shown
    assert len(max(shown.splitlines(), key=len)) < 600
    assert "It is noon\N{REPLACEMENT CHARACTER}[2J." in shown
    last = command(home, "sessions", "show", "1", "--limit", "1", "--json").stdout
    (line,) = json.loads(last)["messages"]
    assert line["message"]["role"] == "assistant"


def test_chat_means_its_open_conversation_if_it_has_one_alone(home: Path) -> None:
    """With several agents the numbers are listed to choose from."""
    assert "conversation 3 of home" in command(home, "sessions", "show", "console:x").stdout
    several = command(home, "sessions", "show", "telegram:555")
    assert several.exit_code == ExitCode.USAGE
    assert "1: with home\n2: with work\n" in several.stderr


def test_conversation_of_the_api_is_named_by_its_queue(home: Path) -> None:
    """It is no chat, and is shown and taken back as it is."""
    with opened(home) as db, job(db):
        sessions.open_session(db, "home", "api/home/talk/ann", 0)
    assert "  api/home/talk/ann  " in command(home, "sessions", "list").stdout
    assert "of home in api/home/talk/ann" in (
        command(home, "sessions", "show", "api/home/talk/ann").stdout
    )


def test_ended_conversation_stays_readable_and_leaves_the_list(home: Path) -> None:
    """Without a daemon the command changes the journal itself."""
    done = command(home, "sessions", "end", "console:x")
    assert done.stdout == "the next message in console:x starts a new conversation\n"
    assert "console:x" not in command(home, "sessions", "list").stdout
    assert "console:x" in command(home, "sessions", "list", "--ended").stdout
    assert "no messages" in command(home, "sessions", "show", "3").stdout
    again = command(home, "sessions", "end", "3")
    assert again.exit_code == ExitCode.USAGE
    assert "conversation 3 has already ended" in again.stderr


async def test_running_daemon_ends_the_conversation(home: Path) -> None:
    """It is the only writer."""
    async with serving(home, {SESSION_END: Ack()}) as server:
        assert (await ask(home, "sessions", "end", "2")).exit_code == 0
        assert server.params(SESSION_END) == [{"id": 2}]


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("show", "99"), ExitCode.USAGE, "unknown conversation 99; see: orchestrator sessions"),
        (("show", "9" * 30), ExitCode.USAGE, "unknown conversation"),
        (("end", "telegram:1"), ExitCode.USAGE, "telegram:1 has no open conversation"),
        (("show", "x"), 2, "such as telegram:123"),
        (("list", "--agent", "hoem"), ExitCode.USAGE, "unknown agent 'hoem'"),
    ],
)
def test_wrong_name_is_refused_with_what_to_write(
    words: tuple[str, ...], code: int, problem: str, home: Path
) -> None:
    """An unknown one is 64, a wrong form 2."""
    refused = command(home, "sessions", *words)
    assert refused.exit_code == code
    assert problem in refused.stderr


def test_home_without_a_conversation_says_so(tmp_path: Path) -> None:
    """In words."""
    with opened(tmp_path):
        pass
    assert command(tmp_path, "sessions", "list").stdout == "there are no conversations\n"
