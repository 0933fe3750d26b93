"""``orchestrator dlq``: the dead-letter queue, messages whose processing was given up."""

import typer

from orchestrator.cli._direct_journal import change
from orchestrator.cli._options import AsJson, Home, RowNumber, command_group, load_settings
from orchestrator.cli._output import minute, moment
from orchestrator.cli._prose import say
from orchestrator.cli._tables import listing, print_json
from orchestrator.control.camel_model import CamelModel
from orchestrator.control.protocol import DLQ_DROP, DLQ_RETRY, RowId
from orchestrator.errors import UnknownNameError
from orchestrator.journal.opening import reading
from orchestrator.journal.turns import deadletters
from orchestrator.journal.turns.inbox import InboxRow
from orchestrator.settings import Settings

app = command_group("dlq")


class LetterReport(CamelModel):
    """One dead letter in ``dlq list --json``; ``received_at`` is in ms since the epoch."""

    id: int
    channel: str
    chat_id: str
    message_id: str
    sender_id: str
    agent_id: str | None
    turn_id: str | None
    claims: int
    received_at: int
    error: str | None
    text: str


@app.command("list")
def list_letters(*, as_json: AsJson = False, home: Home = None) -> None:
    """List the messages that were given up."""
    letters = _letters(load_settings(home))
    listing(
        {"letters": list(map(LetterReport.from_object, letters))},
        "Dead letters",
        ("id", "received (UTC)", "chat", "agent", "deaths", "why"),
        (
            (i.id, minute(i.received_at / 1000), i.address().name, i.agent_id, i.claims, i.error)
            for i in letters
        ),
        empty="no message was given up",
        as_json=as_json,
    )


@app.command()
def show(number: RowNumber, *, as_json: AsJson = False, home: Home = None) -> None:
    """Print one message that was given up."""
    letters = _letters(load_settings(home))
    letter = next((letter for letter in letters if letter.id == number), None)
    if letter is None:
        raise UnknownNameError(f"message {number} is not a dead letter; see: orchestrator dlq list")
    if as_json:
        print_json(LetterReport.from_object(letter))
        return
    typer.echo(f"received  {moment(letter.received_at)} UTC")
    say(f"from      {letter.sender_name} ({letter.sender_id})")
    say(f"chat      {letter.address().name}")
    say(f"agent     {letter.agent_id}, {letter.claims} process deaths")
    say(f"why       {letter.error}")
    typer.echo(f"history   orchestrator trace {letter.id}\n")
    say(letter.text)


@app.command()
def retry(number: RowNumber, *, home: Home = None) -> None:
    """Queue a message again, for a new turn."""
    change(load_settings(home), DLQ_RETRY, RowId(id=number), deadletters.retry, number)
    typer.echo(f"message {number} is queued again")


@app.command()
def drop(number: RowNumber, *, home: Home = None) -> None:
    """Drop a message for good; its trace stays."""
    change(load_settings(home), DLQ_DROP, RowId(id=number), deadletters.drop, number)
    typer.echo(f"message {number} is dropped")


def _letters(settings: Settings) -> list[InboxRow]:
    with reading(settings.journal) as db:
        return deadletters.every(db)
