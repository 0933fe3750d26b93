"""``orchestrator trace``."""

from typing import Annotated

import typer
from pydantic import TypeAdapter

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.options import AsJson, Home, load_settings
from orchestrator.cli.output import escape_hidden, format_count, format_moment, print_text
from orchestrator.cli.tables import print_json, print_table
from orchestrator.control.protocol import CLAIM_CONFIRM, Ack, TurnClaim
from orchestrator.journal.inspect import trace as journal
from orchestrator.journal.inspect.trace import RecordedPrompt, Trace, TraceEvent
from orchestrator.journal.opening import open_for_reading
from thinker.protocol.messages import LayerRecord
from thinker.protocol.names import format_turn_name
from thinker.protocol.prompt_record import PromptRecord

DATE = len("2026-01-01")
DETAIL = 160  # characters shown of an event's detail; --json has the whole detail
FINGERPRINT = 12  # characters shown of a fingerprint; --json has the whole
PROMPTS = TypeAdapter(list[RecordedPrompt])

app = make_command_group()


@app.command()
def trace(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MESSAGE|TURN",
            help="A message's number, CHANNEL:MESSAGE_ID, or the end of a turn's id.",
        ),
    ],
    *,
    prompt: Annotated[
        bool, typer.Option("--prompt", help="Print the prompts that the model received instead.")
    ] = False,
    true: Annotated[
        int | None,
        typer.Option(
            "--true", metavar="N", help="Record that claim N of the turn's answer was true.", min=1
        ),
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show the history of a message.

    Lists every state of the message and its turns, with times, and for each model call its
    duration, time to the first token, retries, and kilobytes sent and received. Needs no daemon.
    """
    settings = load_settings(home)
    if true is not None:
        ask_daemon(settings, CLAIM_CONFIRM, TurnClaim(turn_id=name, claim=true), Ack)
        typer.echo(f"recorded: claim {true} was true")
        return
    with open_for_reading(settings.journal) as db:
        found = journal.load_trace(db, name)
        prompts = journal.list_prompts(db, found) if prompt else []
    if as_json and prompt:
        typer.echo(escape_hidden(PROMPTS.dump_json(prompts, by_alias=True, indent=2).decode()))
    elif as_json:
        print_json(found)
    elif prompt:
        _print_prompts(prompts)
    else:
        _print_trace(found)


def _print_trace(found: Trace) -> None:
    messages = ", ".join(map(str, found.messages))
    turns = " ".join(map(format_turn_name, found.turns))
    typer.echo(f"message {messages}, {format_count(len(found.turns), 'turn')} {turns}\n".lstrip())
    days = {format_moment(event.at)[:DATE] for event in found.events}
    day = days.pop() if len(days) == 1 else ""
    print_table(
        f"States on {day}" if day else "States",
        ("time (UTC)", "what", "state", "ms", "detail"),
        (_build_event_row(event, day) for event in found.events),
    )


def _build_event_row(event: TraceEvent, day: str) -> tuple[object, ...]:
    name = {"inbox": "message", "outbox": "reply"}.get(event.kind, event.kind)
    turn = format_turn_name(event.turn_id or "")
    what = f"turn {turn}" if event.kind == "turn" else f"{name} {event.number}"
    detail = event.detail
    if len(detail) > DETAIL:
        detail = f"{detail[: DETAIL - 1]}…"
    return (format_moment(event.at).removeprefix(day).strip(), what, event.state, event.ms, detail)


def _print_prompts(prompts: list[RecordedPrompt]) -> None:
    if not prompts:
        typer.echo("no model has been called yet")
    for record in prompts:
        layers = record.prompt.layers
        typer.echo(f"turn {format_turn_name(record.turn_id)}, {format_moment(record.at)} UTC")
        for layer in layers:
            place = _describe_place(record.prompt, layer)
            size = f"{len(layer.text)} chars · ~{layer.tokens} tokens{place}"
            print_text(f"── {layer.name} · {size} ──\n{layer.text}")
        total = sum(layer.tokens for layer in layers)
        reasons = record.prompt.reasons
        tools = ", ".join(
            f"{name} ({reasons[name]})" if name in reasons else name for name in record.prompt.tools
        )
        print_text(f"── total · {record.prompt.chars} chars · ~{total} tokens ──")
        print_text(f"── tools · {tools or 'none'} ──")
        if record.history is not None:
            first, last = record.history
            print_text(f"── history · messages {first} to {last} of the journal ──")
        settings = record.prompt.settings
        reasoning = None if settings is None else settings.reasoning
        if reasoning is not None and (effort := reasoning.describe_effort()):
            typer.echo(f"── effort {effort} ──")
        if record.prompt.best_score is not None:
            typer.echo(
                f"── best score {record.prompt.best_score:.2f}"
                f" · temperature {record.prompt.temperature} ──"
            )
        print_text(f"{_format_fingerprints(record.prompt)}\n")


def _describe_place(prompt: PromptRecord, layer: LayerRecord) -> str:
    """Return the place of a layer outside of the system prompt."""
    if not prompt.is_in_message(layer):
        return ""
    return f" · in {'an earlier' if layer.standing else 'the newest'} message"


def _format_fingerprints(prompt: PromptRecord) -> str:
    if not prompt.stable:
        return ""
    changed = f" (changed: {', '.join(prompt.changed)})" if prompt.changed else ""
    stable, volatile = prompt.stable[:FINGERPRINT], prompt.volatile[:FINGERPRINT]
    return f"── stable {stable}{changed} · volatile {volatile} ──"
