"""`orchestrator memory`: facts and profiles listed, searched and forgotten."""

import json
from pathlib import Path

import pytest
from fakes.control_server import ask, command, serving
from fakes.journal import job, opened
from fakes.memory import store_fact

from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from orchestrator.extensions.memory.memory_part import FACT_FORGET
from orchestrator.journal.memory import profile
from orchestrator.journal.memory.memory_scope import MemoryScope

WHOLE = MemoryScope.for_whole_agent("home")
CHAT = MemoryScope("home", "telegram:555", joined=False, shared=False)
TURN = "turn 019a0000deadbeef12345678"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An agent that knows something of all chats, and more of one."""
    with opened(tmp_path) as db, job(db):
        store_fact(db, WHOLE, "The cat is called Minka", "background", TURN, 0)
        store_fact(db, CHAT, "Ann likes tea", "preference", "summary", 60_000, origin="web")
        profile.update_profile(db, WHOLE, "persona.name", "Robin", TURN, 0)
        profile.update_profile(db, WHOLE, "pets", ["Minka"], "config", 60_000)
    return tmp_path


def test_facts_and_profile_are_listed_with_where_they_came_from(home: Path) -> None:
    """A turn as trace takes it, who said it, and the chat that may read it."""
    shown = " ".join(command(home, "memory", "list").stdout.split())
    assert "2 home telegram:555 1970-01-01 00:01 summary, web Ann likes tea" in shown
    assert "1 home all chats 1970-01-01 00:00 turn 12345678, user The cat is called" in shown
    assert 'persona.name home all chats "Robin" turn 12345678, 1970-01-01 00:00' in shown
    assert 'pets[0] home all chats "Minka" config, 1970-01-01 00:01' in shown


def test_one_chat_and_one_agent_can_be_chosen(home: Path) -> None:
    """As JSON, for programs."""
    shown = json.loads(command(home, "memory", "list", "--chat", "telegram:555", "--json").stdout)
    assert [fact["fact"] for fact in shown["facts"]] == ["Ann likes tea"]
    assert shown["profile"] == []
    shown = json.loads(command(home, "memory", "list", "--agent", "home", "--json").stdout)
    assert [field["path"] for field in shown["profile"]] == ["persona.name", "pets[0]"]


def test_search_finds_facts_by_their_words(home: Path) -> None:
    """In all memories, as agents search their own."""
    found = json.loads(command(home, "memory", "search", "cats", "--json").stdout)["facts"]
    assert [fact["id"] for fact in found] == [1]
    assert "Ann likes tea" in command(home, "memory", "search", "tea").stdout
    assert "no fact contains these words" in command(home, "memory", "search", "zebra").stdout


def test_forgotten_fact_is_gone_and_an_unknown_one_is_refused(home: Path) -> None:
    """Without a daemon the command changes the journal itself."""
    assert command(home, "memory", "forget", "1").stdout == "fact 1 was deleted\n"
    assert "no fact contains" in command(home, "memory", "search", "cat").stdout
    again = command(home, "memory", "forget", "1")
    assert again.exit_code == ExitCode.USAGE
    assert again.stderr == "unknown fact 1; see: orchestrator memory list\n"


async def test_running_daemon_forgets_the_fact(home: Path) -> None:
    """It is the only writer."""
    async with serving(home, {FACT_FORGET: Ack()}) as server:
        assert (await ask(home, "memory", "forget", "2")).exit_code == 0
        assert server.params(FACT_FORGET) == [{"id": 2}]


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("list", "--agent", "asistant"), ExitCode.USAGE, 'did you mean "assistant"?'),
        (("search", "tea", "--agent", "asistant"), ExitCode.USAGE, "unknown agent"),
        (("list", "--chat", "555"), 2, "such as telegram:123"),
        (("forget", "x"), 2, "valid integer"),
    ],
)
def test_wrong_name_is_refused_with_what_to_write(
    words: tuple[str, ...], code: int, problem: str, home: Path
) -> None:
    """An unknown one is 64, a wrong form 2."""
    refused = command(home, "memory", *words)
    assert refused.exit_code == code
    assert problem in refused.stderr


def test_home_that_remembers_nothing_says_so(tmp_path: Path) -> None:
    """In words."""
    with opened(tmp_path):
        pass
    assert command(tmp_path, "memory", "list").stdout == "no facts are remembered\n"
