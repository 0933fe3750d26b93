"""`orchestrator memory`: facts and profiles listed, searched and forgotten."""

import json
import time
from pathlib import Path

import pytest
from fakes.control_server import ask, command, serving
from fakes.journal import job, open_turn, opened, reading_in
from fakes.said import store_conversations
from fakes.statements import store_fact

from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from orchestrator.extensions.memory import fact_changes, message_index, profile_changes
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.extensions.memory.memory_part import FACT_EDIT, FACT_FORGET, FACT_UNDO
from orchestrator.journal.memory import facts
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.turns import sessions
from thinker.protocol.messages import AssistantMessage, Message, UserMessage

WHOLE = MemoryScope.for_whole_agent("home")
CHAT = MemoryScope("home", "telegram:555", joined=False, shared=False)
TURN = "turn 019a0000deadbeef12345678"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An agent that knows something of all chats, and more of one."""
    with opened(tmp_path) as db, job(db):
        store_fact(db, WHOLE, "The cat is called Minka", "background", TURN, 0)
        store_fact(db, CHAT, "Ann likes tea", "preference", "summary", 60_000, origin="web")
        profile_changes.update_profile(db, WHOLE, "persona.name", "Robin", TURN, 0)
        profile_changes.update_profile(db, WHOLE, "pets", ["Minka"], "config", 60_000)
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
    """Without a daemon the command changes the journal itself; a hash is left."""
    done = command(home, "memory", "forget", "1").stdout
    assert done.startswith("fact 1 was deleted for good; a hash of it stays")
    assert "no fact contains" in command(home, "memory", "search", "cat").stdout
    again = command(home, "memory", "forget", "1")
    assert again.exit_code == ExitCode.USAGE
    assert again.stderr == "unknown fact 1; see: orchestrator memory list --all\n"
    with reading_in(home) as db:
        assert db.execute("SELECT count(*) FROM fact_gone").get == 1


def test_edited_fact_has_a_history_and_can_be_had_back(home: Path) -> None:
    """Each change is in the audit log."""
    done = command(home, "memory", "edit", "1", " The cat is  called Mau ")
    assert done.stdout == "fact 1 was corrected; take that back: orchestrator memory undo 1\n"
    listed = command(home, "memory", "list").stdout
    assert "called Mau" in listed
    assert "called Minka" not in listed
    every = " ".join(command(home, "memory", "list", "--all").stdout.split())
    assert "replaced by fact 3 The cat is called Minka" in every
    shown = command(home, "memory", "show", "3").stdout
    assert shown.startswith("fact 3: The cat is called Mau\nagent home, all chats\n")
    assert "by operator\n" in shown
    assert "versions, newest first:\n- The cat is called Mau (3, " in shown
    assert "\n- The cat is called Minka (1, " in shown
    undone = command(home, "memory", "undo", "3").stdout
    assert undone == "fact 1 is known again: The cat is called Minka\n"
    assert "taken back" in command(home, "memory", "show", "3").stdout
    assert "called Minka" in command(home, "memory", "list").stdout
    with reading_in(home) as db:
        acts = [act for (act,) in db.execute("SELECT act FROM audit ORDER BY id")]
    assert acts == ["edited a fact", "undid the change of a fact"]


def test_undo_says_what_has_become_of_the_fact(home: Path) -> None:
    """That of a fact without a change forgets it, and the next one brings it back."""
    with opened(home) as db, job(db):
        store_fact(db, CHAT, "Ann \x1bsings", now=time.time_ns() // 1_000_000)
    for _ in range(2):
        forgotten = command(home, "memory", "undo", "3").stdout
        back = "within a day, orchestrator memory undo 3 brings it back"
        assert forgotten == f"fact 3 is forgotten; {back}\n"
        assert command(home, "memory", "undo", "3").stdout == "fact 3 is known again: Ann sings\n"


def test_older_fact_of_a_slot_is_named(tmp_path: Path) -> None:
    """In lists, searches and of one fact; what it replaced answers for it."""
    source = f"extraction {TURN[5:]}..{TURN[5:-1]}9"
    with opened(tmp_path) as db, job(db):
        for memory, town in ((CHAT, "Paris"), (WHOLE, "Bonn"), (CHAT, "Rome")):
            told = Statement(f"Lives in {town}", "contact", source, slot="home town")
            fact_changes.store_statement(db, memory, told, 1)
    for words in (("list",), ("search", "Rome"), ("search", "which town?")):
        shown = " ".join(command(tmp_path, "memory", *words).stdout.split())
        assert "may replace 1 Lives in Rome" in shown
        assert shown.count("may replace") == 1
    assert "(UTC), may replace 1\n" in command(tmp_path, "memory", "show", "3").stdout
    assert "extraction 12345678..12345679" in command(tmp_path, "memory", "show", "3").stdout
    only = command(tmp_path, "memory", "list", "--chat", "telegram:9").stdout
    assert only.endswith("facts for all chats: orchestrator memory list\n")


def test_fact_is_shown_with_the_message_that_says_it(tmp_path: Path) -> None:
    """With its date and chat, and how to trace it; once the message is gone, that is said."""
    with opened(tmp_path) as db:
        open_turn(db, "t1", "I moved to Berlin")
        with job(db):
            session = sessions.open_session(db, "home", "telegram/1/555/", 0, "telegram:555")
            said: list[Message] = [
                UserMessage(content="I moved to Berlin"),
                AssistantMessage(content="Nice."),
            ]
            sessions.append_messages(db, session, "t1", said, 60_000)
            store_fact(db, CHAT, "Lives in Berlin", source="turn t1", valid_from=86_400_000)
    shown = command(tmp_path, "memory", "show", "1").stdout
    assert "from 2 January 1970 (UTC)\n" in shown
    assert "said 1970-01-01 00:01 in telegram/1/555/ by the user:\n  I moved to Berlin\n" in shown
    assert "  orchestrator trace t1\n" in shown
    told = json.loads(command(tmp_path, "memory", "show", "1", "--json").stdout)
    assert told["fact"]["chat"] == "telegram:555"
    assert told["said"]["text"] == "I moved to Berlin"
    assert [one["id"] for one in told["versions"]] == [1]
    with opened(tmp_path) as db, job(db):
        db.execute("DELETE FROM message")
    assert "is not known, or not kept any more" in command(tmp_path, "memory", "show", "1").stdout


def test_memory_is_exported_as_json_lines(home: Path, tmp_path: Path) -> None:
    """Facts, notes and profile fields; a file that is there is not overwritten."""
    with opened(home) as db, job(db):
        store_fact(db, CHAT, "Spoke of tea", facts.NOTE)
    lines = [json.loads(line) for line in command(home, "memory", "export").stdout.splitlines()]
    assert [line["kind"] for line in lines] == ["note", "fact", "fact", "profile", "profile"]
    assert lines[2]["fact"] == "The cat is called Minka"
    assert lines[2]["updatedAt"] == 0
    file = tmp_path / "memory.jsonl"
    chosen = ("memory", "export", "--chat", "telegram:555", "--output", str(file))
    assert command(home, *chosen).stdout == f"2 entries are in {file}\n"
    assert len(file.read_text().splitlines()) == 2
    assert file.stat().st_mode & 0o777 == 0o600
    refused = command(home, *chosen)
    assert refused.exit_code != 0
    assert "exists; name a file that does not" in refused.stderr
    refused = command(home, "memory", "export", "--output", str(tmp_path / "no" / "x"))
    assert "cannot write" in refused.stderr


@pytest.mark.parametrize(
    ("method", "words", "params"),
    [
        (FACT_FORGET, ("forget", "2"), {"id": 2}),
        (FACT_UNDO, ("undo", "2"), {"id": 2}),
        (FACT_EDIT, ("edit", "2", "Ann likes  coffee"), {"id": 2, "text": "Ann likes coffee"}),
    ],
)
async def test_running_daemon_makes_the_change(
    method: str, words: tuple[str, ...], params: dict[str, object], home: Path
) -> None:
    """It is the only writer."""
    async with serving(home, {method: Ack()}) as server:
        assert (await ask(home, "memory", *words)).exit_code == 0
        assert server.params(method) == [params]


@pytest.fixture
def talkative(tmp_path: Path) -> Path:
    """A home whose agent was told a dozen things."""
    file = {"agents": [{"agentId": "work", "llmProvider": "demo", "timezone": "UTC"}]}
    (tmp_path / "agents.json").write_text(json.dumps(file))
    with opened(tmp_path) as db:
        store_conversations(db, "telegram:7")
        with job(db):
            while message_index.index_new_messages(db):
                pass
    return tmp_path


def test_search_is_tried_with_ten_questions_of_ones_own(talkative: Path) -> None:
    """Each with what was expected, the best messages, and why they are."""
    shown = command(talkative, "memory", "try").stdout
    assert "10. " in shown
    assert "expected: 2026-05-" in shown
    assert "words with weight and messages: " in shown
    assert "; matched: " in shown
    assert shown.splitlines()[-1].startswith(
        "10 of 10 found within 1,500 tokens, 10 of them first, "
    )
    told = json.loads(command(talkative, "memory", "try", "--json").stdout)["results"]
    assert [result["rank"] for result in told] == [1] * 10
    assert told[0]["found"][0]["parts"].keys() == {"words", "beside", "sitting", "who", "date"}


def test_search_is_tried_with_given_questions(talkative: Path) -> None:
    """Of the only agent; of several, one is named."""
    asked = ("memory", "try", "When does the ferry to Naxos leave?", "zeppelin")
    shown = command(talkative, *asked).stdout
    assert "* 2026-05-09 00:00 m" in shown
    assert shown.splitlines()[-1].startswith("2 searches of 1,500 tokens at most, ")
    with opened(talkative) as db:
        store_conversations(db, "telegram:7", ["Hello there."], "home")
    waiting = command(talkative, "memory", "try", "ferry", "--agent", "work").stdout.splitlines()
    assert waiting[-2].startswith("2 messages are not indexed yet and not found here; a running")
    assert waiting[-1].startswith("1 search of 1,500 tokens at most")
    told = json.loads(command(talkative, *asked, "--agent", "work", "--json").stdout)
    assert (told["unindexed"], told["results"][0]["indexed"]) == (2, None)
    refused = command(talkative, *asked)
    assert refused.exit_code == ExitCode.FAILED
    assert refused.stderr == "name the agent with --agent, one of home, work\n"
    assert command(talkative, *asked, "--agent", "work").exit_code == 0
    assert command(talkative, *asked, "--agent", "wrk").exit_code != 0
    assert command(talkative, "memory", "try", "--tokens", "1").exit_code == 2


def test_trial_of_a_new_home_says_what_to_ask(talkative: Path) -> None:
    """There is nothing to make questions of."""
    empty = command(talkative, "memory", "try", "--chat", "telegram:99").stdout
    assert empty.startswith("nothing that people said here is older than a day; ask something")
    agents = [{"agentId": name, "llmProvider": "demo"} for name in ("work", "idle")]
    (talkative / "agents.json").write_text(json.dumps({"agents": agents}))
    for question in ((), ("ferry",)):
        idle = command(talkative, "memory", "try", *question, "--agent", "idle")
        assert idle.stderr == "nothing was said yet to 'idle'\n"
        unknown = command(talkative, "memory", "try", *question, "--agent", "idol")
        assert unknown.stderr.startswith("unknown agent 'idol'")


@pytest.mark.parametrize(
    ("words", "code", "problem"),
    [
        (("list", "--agent", "asistant"), ExitCode.USAGE, 'did you mean "assistant"?'),
        (("search", "tea", "--agent", "asistant"), ExitCode.USAGE, "unknown agent"),
        (("search", ""), 2, "write the words to look for"),
        (("list", "--chat", "555"), 2, "such as telegram:123"),
        (("forget", "x"), 2, "valid integer"),
        (("forget", "0"), 2, "greater than or equal to 1"),
        (("show", "77"), ExitCode.USAGE, "unknown fact 77; see: orchestrator memory list --all"),
        (("undo", "77"), ExitCode.USAGE, "unknown fact 77"),
        (("undo", "1"), ExitCode.FAILED, "has not changed within a day"),
        (("edit", "77", "x"), ExitCode.USAGE, "unknown fact 77"),
        (("edit", "1", "  "), 2, "write one sentence"),
        (("edit", "1", "x" * 2001), 2, "at most 2000 characters"),
        (("edit", "1", "The key is sk-abcdefghijklmnopqrstuvwxyz123456"), 1, "secrets are never"),
        (("export", "--agent", "asistant"), ExitCode.USAGE, 'did you mean "assistant"?'),
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
