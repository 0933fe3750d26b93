"""``orchestrator memory``: what agents remember, and its sources."""

import json
from collections.abc import Iterable
from typing import Annotated

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.known_agents import require_agent
from orchestrator.cli.options import (
    AsJson,
    Home,
    RowNumber,
    load_settings,
    parse_chat,
)
from orchestrator.cli.output import format_minute
from orchestrator.cli.tables import (
    Columns,
    describe_record,
    print_json,
    print_listing,
    print_records,
)
from orchestrator.control.protocol import RowId
from orchestrator.extensions.memory import memories
from orchestrator.extensions.memory.memories import KnownFact, ProfileField
from orchestrator.extensions.memory.memory_part import FACT_FORGET
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings
from thinker.protocol.names import format_turn_name

FOUND = 20  # facts that a search shows of each memory
EVERY = "all chats"  # shown for facts and fields that belong to no chat
Agent = Annotated[str | None, typer.Option(help="Show only this agent.")]
Chat = Annotated[str | None, typer.Option(help="Only of this chat, such as telegram:123.")]

app = make_command_group("memory")


@app.command("list")
def list_memory(
    *, agent: Agent = None, chat: Chat = None, as_json: AsJson = False, home: Home = None
) -> None:
    """List the facts, newest first, and the profile fields."""
    settings, scope = load_settings(home), _parse_scope(chat)
    with open_for_reading(settings.journal) as db:
        facts = memories.list_stored_facts(db, agent, scope)
        fields = memories.list_profile_fields(db, agent, scope)
    _require_known_agent(settings, agent, found=bool(facts or fields))
    if as_json:
        print_json({"facts": _describe_rows(facts), "profile": _describe_rows(fields)})
        return
    printed = print_records("Facts", facts, FACTS)
    printed |= print_records("Profiles", fields, PROFILES)
    if not printed:
        typer.echo("no facts are remembered")


@app.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words to look for.")],
    *,
    agent: Agent = None,
    chat: Chat = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Search the facts by words, as agents do; best matches first."""
    settings = load_settings(home)
    with open_for_reading(settings.journal) as db:
        found = memories.search_stored_facts(db, text, agent, _parse_scope(chat), FOUND)
    _require_known_agent(settings, agent, found=bool(found))
    print_listing(
        "Facts",
        found,
        FACTS,
        key="facts",
        empty="no fact contains these words; see: orchestrator memory list",
        as_json=as_json,
        describe=_describe_row,
    )


@app.command()
def forget(number: RowNumber, *, home: Home = None) -> None:
    """Delete one fact, by its number in the list."""
    change_journal(load_settings(home), FACT_FORGET, RowId(id=number), memories.forget_fact, number)
    typer.echo(f"fact {number} was deleted")


def _parse_scope(chat: str | None) -> str | None:
    if chat is None:
        return None
    name = parse_chat([chat])
    return f"{name.channel}:{name.chat_id}"


def _require_known_agent(settings: Settings, agent: str | None, *, found: bool) -> None:
    if agent is not None and not found:
        require_agent(settings, agent)


def _format_source(source: str) -> str:
    """Return the source of a fact; a turn as `orchestrator trace` takes it."""
    kind, _, turn_id = source.partition(" ")
    return f"turn {format_turn_name(turn_id)}" if kind == "turn" else source


def _format_origin(field: ProfileField) -> str:
    if field.source is None or field.at is None:
        return ""
    return f"{_format_source(field.source)}, {format_minute(field.at / 1000)}"


def _describe_row(row: KnownFact | ProfileField) -> dict[str, object]:
    """Return a fact or field for JSON; ``chat`` is empty for all chats, times in ms."""
    return describe_record(row, renamed={"scope": "chat"})


def _describe_rows(rows: Iterable[KnownFact | ProfileField]) -> list[dict[str, object]]:
    return list(map(_describe_row, rows))


FACTS: Columns = {
    "id": "id",
    "agent": "agent_id",
    "chat": lambda fact: fact.scope or EVERY,
    "stored (UTC)": lambda fact: format_minute(fact.created_at / 1000),
    "from": lambda fact: f"{_format_source(fact.source)}, {fact.origin}",
    "fact": "fact",
}
PROFILES: Columns = {
    "field": "path",
    "agent": "agent_id",
    "chat": lambda field: field.scope or EVERY,
    "value": lambda field: json.dumps(field.value, ensure_ascii=False),
    "from": _format_origin,
}
