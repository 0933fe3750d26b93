"""``orchestrator memory``: what agents remember, and its sources."""

import json
import os
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import orjson
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
from orchestrator.cli.output import format_minute, make_printable, print_text, write_line
from orchestrator.cli.tables import (
    Columns,
    describe_record,
    print_json,
    print_listing,
    print_records,
)
from orchestrator.control.protocol import RowId
from orchestrator.errors import OrchestratorError
from orchestrator.extensions.memory import fact_dates, memories
from orchestrator.extensions.memory.commands import fact_report, trial_report
from orchestrator.extensions.memory.fact_lines import format_sentence
from orchestrator.extensions.memory.memories import FactEdit, KnownFact, ProfileField
from orchestrator.extensions.memory.memory_part import FACT_EDIT, FACT_FORGET, FACT_UNDO
from orchestrator.extensions.memory.search_trial import TOKENS
from orchestrator.journal.memory import facts
from orchestrator.journal.opening import open_for_reading
from orchestrator.settings import Settings

NOTHING_SAID = (
    "nothing that people said here is older than a day; ask something:"
    ' orchestrator memory try "when did I ...?"'
)
NONE_OF_CHAT = (
    "no facts are remembered for this chat alone; facts for all chats: orchestrator memory list"
)
FOUND = 20  # facts that a search shows of each memory
Agent = Annotated[str | None, typer.Option(help="Show only this agent.")]
Chat = Annotated[str | None, typer.Option(help="Only of this chat, such as telegram:123.")]

app = make_command_group("memory")


@app.command("list")
def list_memory(
    *,
    agent: Agent = None,
    chat: Chat = None,
    every: Annotated[bool, typer.Option("--all", help="Also facts that have ended.")] = False,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """List the facts, newest first, and the profile fields."""
    settings, scope = load_settings(home), _parse_scope(chat)
    with open_for_reading(settings.journal) as db:
        now = time.time_ns() // 1_000_000
        found = memories.list_stored_facts(db, agent, scope, now, ended=every)
        fields = memories.list_profile_fields(db, agent, scope)
        older = memories.find_older_facts(db, found)
    _require_known_agent(settings, agent, found=bool(found or fields))
    if as_json:
        print_json({"facts": _describe_rows(found), "profile": _describe_rows(fields)})
        return
    printed = print_records("Facts", found, _build_columns(older))
    printed |= print_records("Profiles", fields, PROFILES)
    if not printed:
        typer.echo("no facts are remembered" if scope is None else NONE_OF_CHAT)


@app.command()
def show(number: RowNumber, *, as_json: AsJson = False, home: Home = None) -> None:
    """Show one fact: since when, where it was said, and its earlier versions."""
    with open_for_reading(load_settings(home).journal) as db:
        fact = memories.require_fact(db, number)
        versions = memories.list_versions(db, fact)
        said = memories.find_evidence(db, fact)
        older = memories.find_older_facts(db, [fact]).get(fact.id)
    if as_json:
        print_json(
            {
                "fact": _describe_row(fact),
                "said": None if said is None else describe_record(said),
                "versions": [describe_record(one) for one in versions],
            }
        )
    else:
        for line in fact_report.describe_fact(fact, versions, said, older):
            write_line(make_printable(line))


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
    if not text.strip():
        raise typer.BadParameter("write the words to look for", param_hint="TEXT")
    settings, scope, now = load_settings(home), _parse_scope(chat), time.time_ns() // 1_000_000
    with open_for_reading(settings.journal) as db:
        found = memories.search_stored_facts(db, text, agent, scope, FOUND, now)
        older = memories.find_older_facts(db, found)
    _require_known_agent(settings, agent, found=bool(found))
    print_listing(
        "Facts",
        found,
        _build_columns(older),
        key="facts",
        empty="no fact contains these words; see: orchestrator memory list",
        as_json=as_json,
        describe=_describe_row,
    )


@app.command()
def edit(
    number: RowNumber,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The fact's new sentence.")],
    *,
    home: Home = None,
) -> None:
    """Correct one fact; the old sentence is kept as an earlier version."""
    settings, sentence = load_settings(home), " ".join(text.split())
    if not 0 < len(sentence) <= memories.MAX_FACT:
        limit = f"write one sentence of at most {memories.MAX_FACT} characters"
        raise typer.BadParameter(limit, param_hint="TEXT")
    wanted = FactEdit(id=number, text=sentence)
    change_journal(settings, FACT_EDIT, wanted, memories.edit_fact, wanted)
    typer.echo(f"fact {number} was corrected; take that back: orchestrator memory undo {number}")


@app.command()
def undo(number: RowNumber, *, home: Home = None) -> None:
    """Take back the last change of a fact, within a day; a fact without one is forgotten."""
    settings, order = load_settings(home), RowId(id=number)
    with open_for_reading(settings.journal) as db:
        candidates = memories.list_undo_candidates(db, number)
    change_journal(settings, FACT_UNDO, order, memories.undo_change, number)
    with open_for_reading(settings.journal) as db:
        fact = memories.find_undone_fact(db, candidates)
    print_text(fact_report.describe_undo(number, fact))


@app.command()
def forget(number: RowNumber, *, home: Home = None) -> None:
    """Delete one fact at once and for good, by its number in the list."""
    change_journal(load_settings(home), FACT_FORGET, RowId(id=number), memories.forget_fact, number)
    typer.echo(
        f"fact {number} was deleted for good; a hash of it stays, so that it is not learned again"
    )


@app.command()
def export(
    *,
    agent: Agent = None,
    chat: Chat = None,
    output: Annotated[
        Path | None, typer.Option(help="File to write, which must not exist.", metavar="FILE")
    ] = None,
    home: Home = None,
) -> None:
    """Print facts, notes and profiles as JSON lines, each with its kind."""
    settings, scope = load_settings(home), _parse_scope(chat)
    with open_for_reading(settings.journal) as db:
        found = memories.list_stored_facts(db, agent, scope, 0, ended=True)
        fields = memories.list_profile_fields(db, agent, scope)
    _require_known_agent(settings, agent, found=bool(found or fields))
    rows = [{"kind": _name_kind(fact), **_describe_row(fact)} for fact in found]
    rows += [{"kind": "profile", **_describe_row(field)} for field in fields]
    lines = b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    if output is None:
        typer.echo(lines, nl=False)
        return
    try:
        with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(lines)
    except FileExistsError as error:
        raise OrchestratorError(f"{output} exists; name a file that does not") from error
    except OSError as error:
        raise OrchestratorError(f"cannot write {output}: {error.strerror}") from error
    typer.echo(f"{len(rows)} entries are in {output}")


@app.command("try")
def try_search(
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="What to look for.")
    ] = None,
    *,
    agent: Agent = None,
    chat: Chat = None,
    tokens: Annotated[
        int, typer.Option(help="Size of what an agent reads of a search.", min=100, max=8000)
    ] = TOKENS,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Try the search in what was said, without a model, and show what it finds and why.

    Without questions it asks ten: messages of people older than a day, each without the rarer half
    of its telling words. Whether the message itself is found is the result.
    """
    settings, scope = load_settings(home), _parse_scope(chat)
    trial = trial_report.run_trial(settings, questions or (), agent, scope, tokens)
    _require_known_agent(settings, agent, found=bool(trial.results))
    if as_json:
        print_json(trial_report.describe_as_json(trial, tokens))
    elif not trial.results:
        typer.echo(NOTHING_SAID)
    else:
        for line in trial_report.describe_trial(trial, tokens):
            print_text(line)


def _parse_scope(chat: str | None) -> str | None:
    if chat is None:
        return None
    name = parse_chat([chat])
    return f"{name.channel}:{name.chat_id}"


def _require_known_agent(settings: Settings, agent: str | None, *, found: bool) -> None:
    if agent is not None and not found:
        require_agent(settings, agent)


def _build_columns(older: Mapping[int, int]) -> Columns:
    """Return the columns of facts; ``older`` has the facts that some may replace."""
    return {**FACTS, "true (UTC)": partial(_format_times, older)}


def _format_times(older: Mapping[int, int], fact: KnownFact) -> str:
    """Return since and until when a fact is true, and what it may replace, as far as known."""
    known = fact.valid_from is not None or fact.valid_to is not None
    times = [fact_dates.describe_times(fact, "UTC")] if known else []
    return ", ".join([*times, *([f"may replace {older[fact.id]}"] if fact.id in older else [])])


def _name_kind(fact: KnownFact) -> str:
    return "note" if fact.category == facts.NOTE else "fact"


def _format_origin(field: ProfileField) -> str:
    if field.source is None or field.at is None:
        return ""
    return f"{fact_report.format_source(field.source)}, {format_minute(field.at / 1000)}"


def _describe_row(row: KnownFact | ProfileField) -> dict[str, object]:
    """Return a fact or field for JSON; ``chat`` is empty for all chats, times in ms."""
    return describe_record(row, renamed={"scope": "chat"})


def _describe_rows(rows: Iterable[KnownFact | ProfileField]) -> list[dict[str, object]]:
    return list(map(_describe_row, rows))


FACTS: Columns = {
    "id": "id",
    "agent": "agent_id",
    "chat": lambda fact: fact.scope or fact_report.EVERY,
    "stored (UTC)": lambda fact: format_minute(fact.created_at / 1000),
    "from": lambda fact: f"{fact_report.format_source(fact.source)}, {fact.origin}",
    "true (UTC)": partial(_format_times, {}),
    "fact": format_sentence,
}
PROFILES: Columns = {
    "field": "path",
    "agent": "agent_id",
    "chat": lambda field: field.scope or fact_report.EVERY,
    "value": lambda field: json.dumps(field.value, ensure_ascii=False),
    "from": _format_origin,
}
