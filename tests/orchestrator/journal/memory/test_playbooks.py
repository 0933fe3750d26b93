"""Playbooks of the journal: defaults given once, edits kept, deleted stays deleted."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import CLASSES, job, open_turn, opened, step
from fakes.memory import HOME, WORK
from vector_runner.cases import Case, area, fixture

from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import playbooks
from orchestrator.journal.memory.memory_scope import MemoryScope
from orchestrator.journal.memory.playbooks import StoredPlaybook
from orchestrator.journal.memory.prompt_memory import load_prompt_memory
from orchestrator.journal.turns import steps
from thinker.formats.skill_file import NAME
from thinker.playbooks import Matcher, merge_playbooks
from thinker.protocol.messages import LayerRecord
from thinker.protocol.methods import ListedSkill
from thinker.protocol.prompt_record import PromptRecord

ELSEWHERE = {"vercel-deployments", "project-source-linking"}  # services that we do not have
MINE = StoredPlaybook(
    id=0,
    name="tea",
    description="Makes tea.",
    instructions="Boil water.",
    keywords=("tea", "茶"),
    priority=3,
    required_tools=("kettle",),
    enabled=True,
    source="turn t1",
    created_at=5,
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """A journal in which ``work`` has its defaults."""
    with opened(tmp_path) as connection:
        playbooks.seed_playbooks(connection, "work", 1)
        yield connection


def names(db: Database, agent_id: str = "work", *globs: str) -> set[str]:
    """What an agent has."""
    return {
        item.name
        for item in playbooks.list_playbooks(
            db, MemoryScope.for_whole_agent(agent_id), globs or ("*",)
        )
    }


def rows(db: Database) -> list[int]:
    """How many rows the tables have."""
    counts = db.execute(
        "SELECT count(*) FROM playbook UNION ALL SELECT count(*) FROM playbook_seed"
        " UNION ALL SELECT count(*) FROM playbook_state"
    )
    return [int(count) for (count,) in counts]


def stored(db: Database, name: str) -> StoredPlaybook:
    """One that exists."""
    found = playbooks.find_playbook(db, WORK, name)
    assert found is not None
    return found


def test_defaults_are_the_themes_of_the_seed_with_text_of_our_own() -> None:
    """Names, keywords and priorities of the reference; two to six steps each."""
    theirs = {row["name"]: row for row in fixture("seeded-17 playbooks")}
    ours = {item.name: item for item in playbooks.load_default_playbooks()}
    assert set(ours) == set(theirs) - ELSEWHERE
    for name, item in ours.items():
        assert NAME.fullmatch(name)
        assert list(item.keywords) == theirs[name]["keywords"]
        assert item.priority == theirs[name]["priority"]
        assert 2 <= len(item.instructions.splitlines()) <= 6
        assert item.instructions.startswith("1. ")


@pytest.mark.parametrize(
    "case", [case for case in area("playbook_matching") if case.name[:7] == "seeded:"], ids=str
)
def test_defaults_match_the_messages_of_the_reference(case: Case) -> None:
    """From the journal's records through the worker's matcher."""
    matcher = Matcher(
        merge_playbooks((), playbooks.build_worker_records(playbooks.load_default_playbooks()))
    )
    matched = [playbook.name for playbook in matcher.match(case.given["message"])]
    assert matched == [name for name in case.expected if name not in ELSEWHERE]


def test_defaults_are_given_once(db: Database) -> None:
    """Edits, switches and deletions outlive every later turn."""
    edited = replace(stored(db, "email-triage"), instructions="Mine.", enabled=False)
    db.execute(
        "UPDATE playbook SET instructions = 'Mine.', enabled = 0 WHERE name = 'email-triage'"
    )
    db.execute("DELETE FROM playbook WHERE name = 'web-browsing'")
    playbooks.seed_playbooks(db, "work", 3)
    assert stored(db, "email-triage") == edited
    assert playbooks.find_playbook(db, WORK, "web-browsing") is None
    assert "web-browsing" not in names(db)


def test_own_playbook_of_a_defaults_name_is_kept(db: Database) -> None:
    """The one that was there first wins."""
    playbooks.insert_playbook(db, HOME, replace(MINE, name="email-triage"), 1)
    playbooks.seed_playbooks(db, "home", 2)
    found = playbooks.find_playbook(db, HOME, "email-triage")
    assert found is not None
    assert found.instructions == "Boil water."


def test_agent_that_had_no_turn_yet_shows_what_it_will_have(db: Database) -> None:
    """`prompt show` reads the journal and writes nothing."""
    playbooks.insert_playbook(db, HOME, MINE, 1)
    stored = rows(db)
    assert names(db, "home") == names(db) | {"tea"}
    assert rows(db) == stored


def test_playbook_is_read_as_it_was_stored(db: Database) -> None:
    """Every field; agents have their own."""
    playbooks.insert_playbook(db, WORK, MINE, 5)
    assert replace(stored(db, "tea"), id=0) == MINE
    assert playbooks.find_playbook(db, HOME, "tea") is None


def test_worker_is_sent_what_is_enabled_and_named_by_a_glob(db: Database) -> None:
    """With keywords as a playbook, without as a listed skill."""
    playbooks.insert_playbook(db, WORK, MINE, 5)
    playbooks.insert_playbook(db, WORK, replace(MINE, name="cellar", keywords=()), 5)
    playbooks.insert_playbook(db, WORK, replace(MINE, name="tea-off", enabled=False), 5)
    known = load_prompt_memory(db, WORK, "", ("tea*", "cellar"))
    assert known.playbooks == (
        {
            "id": stored(db, "tea").id,
            "name": "tea",
            "description": "Makes tea.",
            "instructions": "Boil water.",
            "trigger_config": {"keywords": ["tea", "茶"], "priority": 3.0},
            "required_tools": ["kettle"],
        },
    )
    assert known.skills == (ListedSkill(name="cellar", description="Makes tea."),)


def test_resumed_turn_does_not_see_what_it_stored_itself(db: Database) -> None:
    """Its prompt must be the one that it began with."""
    playbooks.insert_playbook(db, WORK, MINE, 5)
    assert load_prompt_memory(db, WORK, "", ("tea",), until=4).playbooks == ()


def test_missing_tools_of_the_newest_turns_are_told(db: Database) -> None:
    """From the recorded prompts, for `orchestrator status`."""
    open_turn(db)
    prompt = PromptRecord(layers=(LayerRecord(name="base", text="b"),), missing={"kettle": "tea"})
    with job(db):
        steps.plan(db, step("t1").model_copy(update={"prompt": prompt}), CLASSES, 1, 1)
    assert playbooks.list_missing_tools(db, 5) == [("work", "tea", "kettle")]
    assert playbooks.list_missing_tools(db, 0) == []
