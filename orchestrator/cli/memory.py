"""``orchestrator memory``: what agents remember, and where it came from."""

import json
from typing import Annotated

import typer
from pydantic import JsonValue

from orchestrator.cli._agents import require_agent
from orchestrator.cli._direct_journal import change
from orchestrator.cli._options import (
    AsJson,
    Home,
    RowNumber,
    chat_named,
    command_group,
    load_settings,
)
from orchestrator.cli._output import minute
from orchestrator.cli._tables import print_json, table
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import FACT_FORGET, RowId
from orchestrator.journal.inspect import memories
from orchestrator.journal.inspect.memories import ProfileField, Remembered
from orchestrator.journal.opening import reading
from orchestrator.settings import Settings
from thinker.protocol.names import turn_name

FOUND = 20  # facts that a search shows of each memory
EVERY = "all chats"  # shown for what belongs to no chat
Agent = Annotated[str | None, typer.Option(help="Show only this agent.")]
Chat = Annotated[
    str | None, typer.Option(help="Show only what was learned in this chat: telegram:123.")
]

app = command_group("memory")


class FactReport(CamelModel):
    """One fact in ``memory list --json``; ``chat`` is empty for all chats, times in ms."""

    id: int
    agent_id: str
    chat: str
    fact: str
    category: str
    source: str
    origin: str
    confidence: float
    created_at: int
    updated_at: int


class FieldReport(CamelModel):
    """One field of a profile in ``memory list --json``; ``at`` in milliseconds."""

    agent_id: str
    chat: str
    path: str
    value: JsonValue
    source: str | None
    at: int | None


@app.command("list")
def list_memory(
    *, agent: Agent = None, chat: Chat = None, as_json: AsJson = False, home: Home = None
) -> None:
    """List the facts, the newest first, and the fields of the profiles."""
    settings, scope = load_settings(home), _scope(chat)
    with reading(settings.journal) as db:
        facts = memories.listed(db, agent, scope)
        fields = memories.profiles(db, agent, scope)
    _known(settings, agent, found=bool(facts or fields))
    if as_json:
        print_json({"facts": list(map(_fact, facts)), "profile": list(map(_field, fields))})
        return
    told = _print_facts("Facts", facts)
    told |= table(
        "Profiles",
        ("field", "agent", "chat", "value", "from"),
        (
            (i.path, i.agent_id, i.scope or EVERY, json.dumps(i.value, ensure_ascii=False), _by(i))
            for i in fields
        ),
    )
    if not told:
        typer.echo("nothing is remembered")


@app.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words to look for.")],
    *,
    agent: Agent = None,
    chat: Chat = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Search the facts by words, as agents do; the best come first."""
    settings = load_settings(home)
    with reading(settings.journal) as db:
        found = memories.search(db, text, agent, _scope(chat), FOUND)
    _known(settings, agent, found=bool(found))
    if as_json:
        print_json({"facts": list(map(_fact, found))})
    elif not _print_facts("Facts", found):
        typer.echo("no fact has these words; see: orchestrator memory list")


@app.command()
def forget(number: RowNumber, *, home: Home = None) -> None:
    """Delete one fact, by its number in the list."""
    change(load_settings(home), FACT_FORGET, RowId(id=number), memories.forget, number)
    typer.echo(f"fact {number} is forgotten")


def _print_facts(title: str, facts: list[Remembered]) -> bool:
    return table(
        title,
        ("id", "agent", "chat", "stored (UTC)", "from", "fact"),
        (
            (
                i.id,
                i.agent_id,
                i.scope or EVERY,
                minute(i.created_at / 1000),
                f"{_source(i.source)}, {i.origin}",
                i.fact,
            )
            for i in facts
        ),
    )


def _scope(chat: str | None) -> str | None:
    if chat is None:
        return None
    name = chat_named([chat])
    return f"{name.channel}:{name.chat_id}"


def _known(settings: Settings, agent: str | None, *, found: bool) -> None:
    if agent is not None and not found:
        require_agent(settings, agent)


def _source(source: str) -> str:
    """Return what stored a fact; a turn as `orchestrator trace` takes it."""
    kind, _, turn_id = source.partition(" ")
    return f"turn {turn_name(turn_id)}" if kind == "turn" else source


def _by(field: ProfileField) -> str:
    if field.source is None or field.at is None:
        return ""
    return f"{_source(field.source)}, {minute(field.at / 1000)}"


def _fact(row: Remembered) -> FactReport:
    return FactReport.from_object(row, chat=row.scope)


def _field(row: ProfileField) -> FieldReport:
    return FieldReport.from_object(row, chat=row.scope)
