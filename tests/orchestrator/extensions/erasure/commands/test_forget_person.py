"""``orchestrator forget person``: one person goes everywhere, with and without a daemon."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.control_server import ask, command, serving
from fakes.journal import job, opened, receive, update
from fakes.lived import Life

from orchestrator.control.protocol import Ack
from orchestrator.errors import ExitCode
from orchestrator.extensions.erasure.erasure_part import FORGET_PERSON
from orchestrator.extensions.page.reads import web_sessions
from orchestrator.extensions.page.reads.web_sessions import WebGuest
from orchestrator.home_paths import Paths, name_scope_folder
from orchestrator.journal.turns import turns

ANN, BOB = "471147114711", "581258125812"
AGENTS = {
    "agents": [{"agentId": "work", "llmProvider": "demo"}],
    "bindings": [{"channel": "telegram", "chatId": ANN, "agentId": "work"}],
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which Ann has written by Telegram, on the page and in a group, and Bob too."""
    paths = Paths(tmp_path)
    paths.create_directories()
    (tmp_path / "agents.json").write_text(json.dumps(AGENTS, indent=1), "utf-8")
    for chat in (ANN, BOB):
        folder = paths.find_chat_workspaces("work") / name_scope_folder(f"telegram:{chat}")
        folder.mkdir(parents=True)
        (folder / "note.txt").write_text("private", "utf-8")
    with opened(tmp_path) as db:
        with job(db):
            turns.boot(db, 0)
        Life(db, "work", ANN, "zebra").live()
        Life(db, "work", BOB, "otter").live()
        with job(db):
            named = "UPDATE inbox SET sender_name = ?, sender_id = ? WHERE chat_id = ?"
            kind = " AND kind NOT IN('task', 'subagent', 'subagent_result', 'handoff', 'hook')"
            db.execute(named + kind, ("Ann", ANN, ANN))
            db.execute(named + kind, ("Bob", BOB, BOB))
            web_sessions.create_session(db, "t", WebGuest("ann", "reader"), "Firefox", 1)
    return tmp_path


def write(home: Path, chat: str, sender: str, name: str, *, private: bool = True) -> None:
    """Let somebody write another message, in a chat of Telegram or of ``CHANNEL:ID``."""
    channel, _, chat_id = f"telegram:{chat}".rpartition(":")
    channel = channel.rpartition(":")[2]
    sent = update(900 + abs(int(chat_id)), chat_id=chat_id)
    with opened(home) as db:
        facts = replace(sent, channel=channel, sender_id=sender, sender_name=name)
        receive(db, replace(facts, private=private))


def told(home: Path) -> set[str]:
    """The chats that have messages, and the folders of chats."""
    with opened(home) as db:
        chats = {str(chat) for (chat,) in db.execute("SELECT DISTINCT chat_id FROM inbox")}
    return chats | {path.parent.name for path in home.glob("workspaces/*/*/note.txt")}


@pytest.mark.parametrize("place", ["skills", "agents/work/skills"])
@pytest.mark.parametrize("named", [f"notify_chat_id: {ANN}", f"chat: 'telegram@work:{ANN}'"])
def test_lines_of_skills_that_name_the_person_are_shown(home: Path, place: str, named: str) -> None:
    """With their numbers, for edits by hand; the end says where the manual lists what remains."""
    skill = home / place / "news" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: news\n{named}\n---\nTell {ANN}00 and {BOB}.\n", "utf-8")
    done = command(home, "forget", "person", f"telegram:{ANN}", "--yes")
    assert f"{skill}:3: {named}\n" in done.stdout
    assert done.stdout.count("SKILL.md:") == 1
    assert done.stdout.endswith('orchestrator help "Forget one person"\n')
    assert "\n| what | where |" in command(home, "help", "Forget one person").stdout


@pytest.mark.parametrize("who", [["ann"], [f"telegram:{ANN}", "Ann"], [f"telegram:{ANN}"]])
def test_person_goes_with_chats_memory_files_and_logins(home: Path, who: list[str]) -> None:
    """By a name, by a chat, or by both; nobody else loses anything."""
    done = command(home, "forget", "person", *who, said="y\n")
    assert done.exit_code == 0
    assert f"telegram:{ANN}" in done.stdout
    assert "agents.json:" in done.stdout
    left = told(home)
    assert not {ANN, name_scope_folder(f"telegram:{ANN}")} & left
    assert {BOB, name_scope_folder(f"telegram:{BOB}")} <= left
    with opened(home) as db:
        assert db.execute("SELECT 1 FROM pairing WHERE chat_id = ?", (ANN,)).get is None
        assert db.execute("SELECT 1 FROM fact WHERE instr(fact, 'zebra') > 0").get is None
        assert db.execute("SELECT 1 FROM fact WHERE instr(fact, 'otter') > 0").fetchall()
        logins = db.execute("SELECT count(*) FROM web_session WHERE \"user\" = 'ann'").get
    assert logins == (0 if "ann" in map(str.lower, who) else 1)
    again = command(home, "forget", "person", *who[:1], "--yes")
    assert again.exit_code != 0


def test_dry_run_only_shows_as_json_what_would_go(home: Path) -> None:
    """With the lines of agents.json that name the person, and what stays in groups."""
    write(home, "-100777", ANN, "Ann", private=False)
    before = told(home)
    shown = json.loads(command(home, "forget", "person", "Ann", "--dry-run", "--json").stdout)
    assert f"telegram:{ANN}" in shown["chats"]
    assert shown["logins"] == ["ann"]
    assert shown["rows"]["fact"] > 0
    assert [Path(path).name for path in shown["folders"]] == [name_scope_folder(f"telegram:{ANN}")]
    assert shown["groups"] == {"telegram:-100777": 1}
    (line,) = shown["configured"]
    assert f'"chatId": "{ANN}"' in line
    assert shown["deleted"] is False
    assert told(home) == before
    assert command(home, "forget", "person", "Ann", said="n\n").exit_code != 0
    assert told(home) == before


def test_name_of_two_people_is_not_guessed(home: Path) -> None:
    """The answer names their chats."""
    write(home, "99", "99", "ANN")
    refused = command(home, "forget", "person", "Ann", "--yes")
    assert refused.exit_code == ExitCode.FAILED
    assert f"telegram:{ANN}" in refused.stderr
    assert "telegram:99" in refused.stderr


def test_accounts_of_a_chat_system_know_a_person_by_one_id(home: Path) -> None:
    """Two ids with one name are two people, also in two accounts; their chats are grouped."""
    write(home, "telegram@work:99", "99", "Ann")
    write(home, f"telegram@work:{ANN}", ANN, "Ann Lee")
    refused = command(home, "forget", "person", "Ann", "--yes")
    assert refused.exit_code == ExitCode.FAILED
    groups = f"telegram:{ANN} + telegram@work:{ANN}, or telegram@work:99"
    assert groups in " ".join(refused.stderr.split())
    write(home, "telegram@work:-100777", ANN, "Ann Lee", private=False)
    for who in (ANN, f"telegram:{ANN}", f"telegram@work:{ANN}"):
        shown = json.loads(command(home, "forget", "person", who, "--dry-run", "--json").stdout)
        assert shown["chats"] == [f"telegram:{ANN}", f"telegram@work:{ANN}"], who
        assert shown["groups"] == {"telegram@work:-100777": 1}, who


def test_person_known_only_in_a_group_is_offered_by_id(home: Path) -> None:
    """As there is no chat of the person's own to name."""
    write(home, "-100777", "99", "Ann", private=False)
    refused = command(home, "forget", "person", "Ann", "--yes")
    assert f"telegram:{ANN}, or 99" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("who", "problem"),
    [
        ("nobody", "no person has the name 'nobody'"),
        ("bobb", "no person has the name 'bobb'; did you mean \"Bob\"?"),
        ("Ann Leee", "no person has the name 'Ann Leee'"),
        ("telegram:31", "no chat telegram:31 in this home"),
        (f"telegram@work:{BOB}", f"in this home; did you mean telegram:{BOB}?"),
    ],
)
def test_unknown_person_is_told(home: Path, who: str, problem: str) -> None:
    """Nothing is deleted."""
    for words in ([who], ["ann", who]):
        refused = command(home, "forget", "person", *words, "--yes")
        assert refused.exit_code != 0
        assert problem in " ".join(refused.stderr.split())


def test_group_is_not_a_person(home: Path) -> None:
    """It has a command of its own."""
    write(home, "-100777", ANN, "Ann", private=False)
    refused = command(home, "forget", "person", "telegram:-100777", "--yes")
    assert "is a group; 'orchestrator forget chat telegram:-100777'" in refused.stderr


async def test_running_daemon_is_asked(home: Path) -> None:
    """With the chats and logins, all of which it forgets at once."""
    asked: list[dict[str, list[str]]] = []

    async def forget(params: Any) -> Ack:
        asked.append(params)
        return Ack()

    async with serving(home, {FORGET_PERSON: forget}):
        assert (await ask(home, "forget", "person", "Bob", "--yes")).exit_code == 0
    (params,) = asked
    assert f"telegram:{BOB}" in params["chats"]


def test_workspace_of_a_forgotten_chat_goes_too(home: Path) -> None:
    """Of every agent."""
    done = command(home, "forget", "chat", f"telegram:{ANN}", "--yes")
    assert done.exit_code == 0
    assert name_scope_folder(f"telegram:{ANN}") not in told(home)
    assert name_scope_folder(f"telegram:{BOB}") in told(home)
