"""``orchestrator dlq``: the dead-letter queue, messages that were given up."""

import typer

from orchestrator.cli.commands import make_command_group
from orchestrator.cli.direct_journal import change_journal
from orchestrator.cli.options import AsJson, Home, RowNumber, load_settings
from orchestrator.cli.output import format_minute, format_moment, print_text
from orchestrator.cli.tables import Columns, describe_record, print_json, print_listing
from orchestrator.control.protocol import DLQ_DROP, DLQ_RETRY, RowId
from orchestrator.errors import UnknownNameError
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.turns import deadletters
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.settings import Settings

app = make_command_group("dlq")


FIELDS = (  # of a dead letter in JSON; times in milliseconds since the epoch
    "id",
    "channel",
    "chat_id",
    "message_id",
    "sender_id",
    "agent_id",
    "turn_id",
    "claims",
    "received_at",
    "error",
    "text",
)
COLUMNS: Columns = {
    "id": "id",
    "received (UTC)": lambda letter: format_minute(letter.received_at / 1000),
    "chat": lambda letter: letter.build_address().name,
    "agent": "agent_id",
    "deaths": "claims",
    "why": "error",
}


@app.command("list")
def list_letters(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the messages that were given up."""
    print_listing(
        "Dead letters",
        _load_letters(load_settings(home)),
        COLUMNS,
        key="letters",
        empty="no messages were given up",
        as_json=as_json,
        describe=_describe_letter,
    )


@app.command()
def show(number: RowNumber, *, as_json: AsJson = False, home: Home = None) -> None:
    """Print one message that was given up."""
    letters = _load_letters(load_settings(home))
    letter = next((letter for letter in letters if letter.id == number), None)
    if letter is None:
        raise UnknownNameError(f"message {number} is not a dead letter; see: orchestrator dlq list")
    if as_json:
        print_json(_describe_letter(letter))
        return
    typer.echo(f"received  {format_moment(letter.received_at)} UTC")
    print_text(f"from      {letter.sender_name} ({letter.sender_id})")
    print_text(f"chat      {letter.build_address().name}")
    print_text(f"agent     {letter.agent_id}, {letter.claims} process deaths")
    print_text(f"why       {letter.error}")
    typer.echo(f"history   orchestrator trace {letter.id}\n")
    print_text(letter.text)


@app.command()
def retry(number: RowNumber, *, home: Home = None) -> None:
    """Queue a message again, for a new turn."""
    change_journal(
        load_settings(home), DLQ_RETRY, RowId(id=number), deadletters.retry_dead_letter, number
    )
    typer.echo(f"message {number} is queued again")


@app.command()
def drop(number: RowNumber, *, home: Home = None) -> None:
    """Drop a message permanently; its trace stays."""
    change_journal(
        load_settings(home), DLQ_DROP, RowId(id=number), deadletters.drop_dead_letter, number
    )
    typer.echo(f"message {number} is dropped")


def _load_letters(settings: Settings) -> list[InboxRow]:
    with open_for_reading(settings.journal) as db:
        return deadletters.list_dead_letters(db)


def _describe_letter(letter: InboxRow) -> dict[str, object]:
    return describe_record(letter, FIELDS)
