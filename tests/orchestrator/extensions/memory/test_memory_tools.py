"""The tools for facts, profile and conversations, as a model calls them."""

from dataclasses import replace

import pytest
from fakes.memory import HOME, WORK
from fakes.tool_call import run

from orchestrator.extensions.memory import memory_tools, profile_tools
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.tools.builtin.host_tool import JournalTool, ToolContext, ToolFailure
from thinker.protocol.messages import JsonObject


def test_fact_is_marked_with_its_turn_and_confidence(db: Database, context: ToolContext) -> None:
    """So its origin can be shown later."""
    run(memory_tools.store_fact, db, context, fact="User likes tea", confidence=0.5)
    (fact,) = facts.list_newest_facts(db, WORK, None, facts.FOREVER, 9)
    assert (fact.source, fact.confidence, fact.category) == ("turn t1", 0.5, "background")
    shown = run(memory_tools.list_facts, db, context)
    assert shown == "- User likes tea (background, confidence 0.5, id 1)"


def test_similar_fact_is_stored_with_a_note(db: Database, context: ToolContext) -> None:
    """Of the same category only; the model decides which of them stays."""
    run(
        memory_tools.store_fact, db, context, fact="User drinks green tea daily", category="pattern"
    )
    other = "User drinks green tea"
    assert "Similar" not in run(
        memory_tools.store_fact, db, context, fact=other, category="preference"
    )
    answer = run(
        memory_tools.store_fact, db, context, fact="Drinks green tea, daily", category="pattern"
    )
    assert answer.splitlines() == [
        "Stored: Drinks green tea, daily (pattern, id 3)",
        "Similar facts were known; update or delete one if both say the same:",
        "- User drinks green tea daily (pattern, id 1)",
    ]


def test_secret_is_refused_by_every_way_in(db: Database, context: ToolContext) -> None:
    """Storing, changing, profile; nothing of it is kept."""
    run(memory_tools.store_fact, db, context, fact="User likes tea")
    secret = "The wifi password: hunter2"
    calls: tuple[tuple[JournalTool, JsonObject], ...] = (
        (memory_tools.store_fact, {"fact": secret}),
        (memory_tools.update_fact, {"id": 1, "fact": secret}),
        (profile_tools.update_profile, {"path": "wifi.password", "value": "hunter2"}),
    )
    for tool, arguments in calls:
        with pytest.raises(ToolFailure, match="looks like a password or secret"):
            tool.effect(db, context, arguments)
    assert run(memory_tools.list_facts, db, context) == "- User likes tea (background, id 1)"
    assert run(profile_tools.get_profile, db, context) == "{}"


async def test_fact_is_corrected_and_forgotten_by_its_id(
    db: Database, context: ToolContext
) -> None:
    """Other fields stay; the search finds the new text."""
    run(memory_tools.store_fact, db, context, fact="User likes tea", category="preference")
    answer = run(memory_tools.update_fact, db, context, id=1, fact="User likes cocoa")
    assert answer == "Updated: User likes cocoa (preference, id 1)"
    assert await memory_tools.search_memories.run(context, {"query": "tea"}) == "No memories match."
    assert run(memory_tools.delete_fact, db, context, id=1) == "Deleted: User likes cocoa"
    assert run(memory_tools.list_facts, db, context) == "No facts are stored."


def test_fact_of_another_agent_cannot_be_touched(db: Database, context: ToolContext) -> None:
    """Ids are the journal's, so they could be guessed."""
    run(
        memory_tools.store_fact,
        db,
        replace(context, agent_id="home", memory=HOME),
        fact="User likes tea",
    )
    for tool in (memory_tools.update_fact, memory_tools.delete_fact):
        for number in (1, 0, 99):
            with pytest.raises(ToolFailure, match=f"no fact {number}; take its id from list_facts"):
                run(tool, db, context, id=number)


def test_fact_cannot_become_the_double_of_another(db: Database, context: ToolContext) -> None:
    """The model is told to delete one."""
    run(memory_tools.store_fact, db, context, fact="User likes tea")
    run(memory_tools.store_fact, db, context, fact="User likes cocoa")
    with pytest.raises(ToolFailure, match="delete one of the two"):
        run(memory_tools.update_fact, db, context, id=2, fact="User likes tea")


def test_facts_are_listed_in_pages_newest_first(db: Database, context: ToolContext) -> None:
    """By category when asked; the answer says how to go on."""
    for number in range(1, 6):
        category = "project" if number == 2 else "background"
        run(memory_tools.store_fact, db, context, fact=f"Fact{number}", category=category)
    assert run(memory_tools.list_facts, db, context, limit=2) == (
        "- Fact5 (background, id 5)\n- Fact4 (background, id 4)\n"
        "There are older ones: call again with before_id 4."
    )
    assert "older" not in run(memory_tools.list_facts, db, context, limit=3, before_id=4)
    assert (
        run(memory_tools.list_facts, db, context, category="Project") == "- Fact2 (project, id 2)"
    )


BAD: tuple[JsonObject, ...] = (
    {"limit": 0},
    {"limit": "many"},
    {"limit": True},
    {"before_id": 2.0**63},
    {"category": "gossip"},
)


@pytest.mark.parametrize("arguments", BAD)
def test_argument_out_of_bounds_is_told(
    db: Database, context: ToolContext, arguments: JsonObject
) -> None:
    """It does not rely on the worker's check."""
    with pytest.raises(ToolFailure, match="must be"):
        memory_tools.list_facts.effect(db, context, arguments)


def test_profile_is_set_read_and_remembers_what_it_was(db: Database, context: ToolContext) -> None:
    """By path, whole, and with its history."""
    answer = run(profile_tools.update_profile, db, context, path="pets[0].name", value="Tom")
    assert answer == 'pets[0].name is now "Tom"'
    assert run(profile_tools.get_profile, db, context, path="pets[0]") == '{\n  "name": "Tom"\n}'
    assert run(profile_tools.get_profile, db, context, path="x.y") == "Nothing is there."
    assert (
        run(profile_tools.update_profile, db, context, path="pets", value=None) == "Removed pets."
    )
    assert run(profile_tools.get_profile, db, context, history=True) == (
        "{}\nLast changes, newest first:\n"
        '- pets: [{"name":"Tom"}] -> None (turn t1)\n'
        '- pets[0].name: None -> "Tom" (turn t1)'
    )


@pytest.mark.parametrize("tool", [profile_tools.get_profile, profile_tools.update_profile])
def test_path_that_is_none_is_told(db: Database, context: ToolContext, tool: JournalTool) -> None:
    """With an example."""
    with pytest.raises(ToolFailure, match="write one such as"):
        run(tool, db, context, path="a..b", value=1)


async def test_fact_is_stored_once_and_found_again(db: Database, context: ToolContext) -> None:
    """Only by its own agent."""
    fact = {"fact": " User likes tea. ", "category": "Preference"}
    assert run(memory_tools.store_fact, db, context, **fact) == (
        "Stored: User likes tea. (preference, id 1)"
    )
    assert run(memory_tools.store_fact, db, context, **fact).startswith("Known already")
    found = await memory_tools.search_memories.run(context, {"query": "tea"})
    assert found == "- User likes tea. (preference, id 1)"
    other = replace(context, agent_id="home", memory=HOME)
    assert await memory_tools.search_memories.run(other, {"query": "tea"}) == "No memories match."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "fact is empty"),
        ({"fact": "  "}, "fact is empty"),
        ({"fact": "x" * 2001}, "at most 2000"),
        ({"fact": "x", "category": "gossip"}, "one of preference"),
    ],
)
def test_unusable_fact_is_refused_with_the_mend(
    db: Database, context: ToolContext, arguments: dict[str, str], message: str
) -> None:
    """Nothing is stored."""
    with pytest.raises(ToolFailure, match=message):
        run(memory_tools.store_fact, db, context, **arguments)
    assert db.execute("SELECT count(*) FROM fact").get == 0
