"""The tools for facts, profile and conversations, as a model calls them."""

from dataclasses import replace

import pytest
from fakes.memory import HOME, WORK
from fakes.tool_call import run

from orchestrator.extensions.memory import (
    fact_changes,
    fact_dates,
    fact_reads,
    memory_tools,
    profile_tools,
)
from orchestrator.extensions.memory.fact_changes import Statement
from orchestrator.journal.db.database import Database
from orchestrator.journal.memory import facts
from orchestrator.tools.builtin.host_tool import JournalTool, ToolContext, ToolFailure
from thinker.protocol.messages import JsonObject

TODAY = "stored 12 February 2026"  # NOON


def test_fact_is_marked_with_its_turn_and_confidence(db: Database, context: ToolContext) -> None:
    """So its origin can be shown later."""
    run(memory_tools.store_fact, db, context, fact="User likes tea", confidence=0.5)
    (fact,) = fact_reads.list_newest_facts(db, WORK, None, facts.FOREVER, 9)
    assert (fact.source, fact.confidence, fact.category) == ("turn t1", 0.5, "background")
    shown = run(memory_tools.list_facts, db, context)
    assert shown == f"- User likes tea (background, confidence 0.5, id 1, {TODAY})"


def test_similar_fact_is_stored_with_a_note(db: Database, context: ToolContext) -> None:
    """Of any category; the model decides which of them stays, and replaces the other."""
    run(memory_tools.store_fact, db, context, fact="User drinks green tea daily")
    answer = run(memory_tools.store_fact, db, context, fact="Drinks tea, daily", category="pattern")
    assert answer == (
        "Stored: Drinks tea, daily (pattern, id 2)\n"
        "Older facts on this. If one is no longer true, call update_fact with its id and the new"
        f" sentence:\n- User drinks green tea daily (background, id 1, {TODAY})"
    )
    run(memory_tools.update_fact, db, context, id=1, fact="Drinks tea, daily")
    assert run(memory_tools.list_facts, db, context) == (
        f"- Drinks tea, daily (pattern, id 2, {TODAY})"
    )


def test_fact_of_the_same_slot_is_named_whatever_its_words(
    db: Database, context: ToolContext
) -> None:
    """Of the same subject; the user is the subject where none is named."""
    home = {"fact": "User lives in Paris", "slot": "Home city", "since": "2019-04"}
    run(memory_tools.store_fact, db, context, **home)
    new = {"fact": "Moved to Berlin", "slot": "home  city", "subject": "User"}
    answer = run(memory_tools.store_fact, db, context, **new)
    assert answer.endswith("\n- User lives in Paris (background, id 1, since 1 April 2019)")
    assert "\n" not in run(
        memory_tools.store_fact, db, context, fact="Lives in Rome", slot="home city", subject="Ann"
    )


def test_list_says_which_older_fact_of_its_slot_a_fact_may_replace(
    db: Database, context: ToolContext
) -> None:
    """As long as both are open, also on an earlier page."""
    for city in ("Paris", "Rome"):
        run(memory_tools.store_fact, db, context, fact=f"Lives in {city}", slot="home city")
    newest = f"- Lives in Rome (background, id 2, {TODAY}, may replace 1)"
    assert run(memory_tools.list_facts, db, context, limit=1).startswith(newest)
    run(memory_tools.update_fact, db, context, id=1, fact="Lives in Rome")
    assert "may replace" not in run(memory_tools.list_facts, db, context)


def test_replaced_fact_is_named_with_its_time(db: Database, context: ToolContext) -> None:
    """What is left out stays as it was."""
    home = {"fact": "User lives in Paris", "slot": "home city", "category": "contact"}
    run(memory_tools.store_fact, db, context, **home)
    answer = run(
        memory_tools.update_fact, db, context, id=1, fact="User lives in Bonn", since="2026-02-03"
    )
    assert answer == (
        "Updated: User lives in Bonn (contact, id 2, since 3 February 2026)\n"
        "Until then: User lives in Paris (id 1)"
    )
    (old,) = [one for one in fact_changes.list_history(db, WORK, 2) if one.id == 1]
    assert fact_dates.describe_times(old, "UTC") == "until 3 February 2026, replaced by fact 2"
    assert (old.slot, old.subject) == ("home city", "user")
    with pytest.raises(ToolFailure, match="was replaced by fact 2; name that"):
        run(memory_tools.update_fact, db, context, id=1, fact="User lives in Rome")


def test_what_others_wrote_does_not_change_what_the_user_said(
    db: Database, context: ToolContext
) -> None:
    """Neither replaced nor forgotten; it may be stored beside it."""
    run(memory_tools.store_fact, db, context, fact="User lives in Paris")
    reading = replace(context, origin="web")
    calls: tuple[tuple[JournalTool, JsonObject], ...] = (
        (memory_tools.update_fact, {"id": 1, "fact": "User lives in Hades"}),
        (memory_tools.delete_fact, {"id": 1}),
    )
    for tool, arguments in calls:
        with pytest.raises(ToolFailure, match="cannot change fact 1, which the user stated"):
            tool.effect(db, reading, arguments)
    run(memory_tools.store_fact, db, reading, fact="User lives in Hades")
    assert run(memory_tools.delete_fact, db, reading, id=2).startswith("Deleted: User lives in Ha")
    assert run(memory_tools.list_facts, db, context) == (
        f"- User lives in Paris (background, id 1, {TODAY})"
    )


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
    assert run(memory_tools.list_facts, db, context) == (
        f"- User likes tea (background, id 1, {TODAY})"
    )
    assert run(profile_tools.get_profile, db, context) == "{}"


async def test_search_without_a_match_shows_the_newest(db: Database, context: ToolContext) -> None:
    """And says so; an older fact of the slot is named."""
    for city in ("Paris", "Rome"):
        run(memory_tools.store_fact, db, context, fact=f"Lives in {city}", slot="home city")
    found = await memory_tools.search_memories.run(context, {"query": "zebra"})
    newest = f"- Lives in Rome (background, id 2, {TODAY}, may replace 1)"
    assert found.startswith(f"No memory has these words; the newest:\n{newest}\n")
    assert newest in await memory_tools.search_memories.run(context, {"query": "Rome"})
    assert newest in await memory_tools.search_memories.run(context, {"query": "which city?"})


def test_fact_that_begins_later_is_true_from_then(db: Database, context: ToolContext) -> None:
    """It is not said to have been true before; one that was undone was taken back."""
    answer = run(memory_tools.store_fact, db, context, fact="Lives in Bonn", since="2099-01")
    assert answer == "Stored: Lives in Bonn (background, id 1)"
    shown = run(memory_tools.list_facts, db, context)
    assert shown == "- Lives in Bonn (background, id 1, from 1 January 2099)"
    fact_changes.replace_fact(db, WORK, 1, Statement("Lives in Rome", "x", "t"), context.now)
    fact_changes.undo_change(db, WORK, 2, context.now)
    undone = facts.find_fact(db, WORK, 2)
    assert undone is not None
    times = fact_dates.describe_times(undone, "UTC")
    assert times == f"{TODAY}, until 12 February 2026, taken back"


async def test_fact_is_corrected_and_forgotten_by_its_id(
    db: Database, context: ToolContext
) -> None:
    """Other fields stay; the search finds the new text."""
    run(memory_tools.store_fact, db, context, fact="User likes tea", category="preference")
    answer = run(memory_tools.update_fact, db, context, id=1, fact="User likes cocoa")
    assert answer.startswith(f"Updated: User likes cocoa (preference, id 2, {TODAY})")
    found = await memory_tools.search_memories.run(context, {"query": "tea"})
    assert found.startswith("- User likes cocoa (preference, id 2")
    answer = run(memory_tools.delete_fact, db, context, id=2)
    assert answer == "Deleted: User likes cocoa (id 2; the user can undo it for a day)"
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


def test_facts_are_listed_in_pages_newest_first(db: Database, context: ToolContext) -> None:
    """By category when asked; the answer says how to go on."""
    for number in range(1, 6):
        category = "project" if number == 2 else "background"
        run(memory_tools.store_fact, db, context, fact=f"Fact{number}", category=category)
    assert run(memory_tools.list_facts, db, context, limit=2) == (
        f"- Fact5 (background, id 5, {TODAY})\n- Fact4 (background, id 4, {TODAY})\n"
        "There are older ones: call again with before_id 4."
    )
    assert "older" not in run(memory_tools.list_facts, db, context, limit=3, before_id=4)
    assert run(memory_tools.list_facts, db, context, category="Project") == (
        f"- Fact2 (project, id 2, {TODAY})"
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
    assert found == f"- User likes tea. (preference, id 1, {TODAY})"
    other = replace(context, agent_id="home", memory=HOME)
    assert await memory_tools.search_memories.run(other, {"query": "tea"}) == "No memories match."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "fact is empty"),
        ({"fact": "  "}, "fact is empty"),
        ({"fact": "x" * 2001}, "at most 2000"),
        ({"fact": "x", "category": "gossip"}, "one of preference"),
        ({"fact": "x", "since": "yesterday"}, "since must be a date"),
        ({"fact": "x", "since": "2026-13-01"}, "since must be a date"),
    ],
)
def test_unusable_fact_is_refused_with_the_mend(
    db: Database, context: ToolContext, arguments: dict[str, str], message: str
) -> None:
    """Nothing is stored."""
    with pytest.raises(ToolFailure, match=message):
        run(memory_tools.store_fact, db, context, **arguments)
    assert db.execute("SELECT count(*) FROM fact").get == 0
