"""``orchestrator trace``."""

from typing import Annotated

import typer
from pydantic import TypeAdapter

from orchestrator.cli._options import AsJson, Home, command_group, load_settings
from orchestrator.cli._output import count, escaped, moment
from orchestrator.cli._prose import say
from orchestrator.cli._tables import table
from orchestrator.journal.inspect import trace as journal
from orchestrator.journal.inspect.trace import RecordedPrompt, Trace, TraceEvent
from orchestrator.journal.opening import reading
from thinker.protocol.messages import LayerRecord
from thinker.protocol.names import turn_name
from thinker.protocol.prompt_record import PromptRecord

DATE = len("2026-01-01")
DETAIL = 160  # characters shown of an event's detail; --json has all that the trace holds
FINGERPRINT = 12  # characters shown of a fingerprint; --json has all of it
PROMPTS = TypeAdapter(list[RecordedPrompt])

app = command_group()


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
    as_json: AsJson = False,
    home: Home = None,
) -> None:
    """Show the history of a message.

    Every state of the message and of its turns, with times; of a model call how long it took, its
    first token, its retries, and the kilobytes sent and received. Works without a daemon too.
    """
    with reading(load_settings(home).journal) as db:
        found = journal.find(db, name)
        prompts = journal.prompts(db, found) if prompt else []
    if as_json and prompt:
        typer.echo(escaped(PROMPTS.dump_json(prompts, by_alias=True, indent=2).decode()))
    elif as_json:
        typer.echo(escaped(found.model_dump_json(by_alias=True, indent=2)))
    elif prompt:
        _print_prompts(prompts)
    else:
        _print(found)


def _print(found: Trace) -> None:
    messages = ", ".join(map(str, found.messages))
    turns = " ".join(map(turn_name, found.turns))
    typer.echo(f"message {messages}, {count(len(found.turns), 'turn')} {turns}\n".lstrip())
    days = {moment(event.at)[:DATE] for event in found.events}
    day = days.pop() if len(days) == 1 else ""
    table(
        f"States on {day}" if day else "States",
        ("time (UTC)", "what", "state", "ms", "detail"),
        (_row(event, day) for event in found.events),
    )


def _row(event: TraceEvent, day: str) -> tuple[object, ...]:
    name = {"inbox": "message", "outbox": "reply"}.get(event.kind, event.kind)
    turn = turn_name(event.turn_id or "")
    what = f"turn {turn}" if event.kind == "turn" else f"{name} {event.number}"
    detail = event.detail
    if len(detail) > DETAIL:
        detail = f"{detail[: DETAIL - 1]}…"
    return (moment(event.at).removeprefix(day).strip(), what, event.state, event.ms, detail)


def _print_prompts(prompts: list[RecordedPrompt]) -> None:
    if not prompts:
        typer.echo("no model was called yet")
    for record in prompts:
        layers = record.prompt.layers
        typer.echo(f"turn {turn_name(record.turn_id)}, {moment(record.at)} UTC")
        for layer in layers:
            size = f"{len(layer.text)} chars · ~{layer.tokens} tokens{_place(record.prompt, layer)}"
            say(f"── {layer.name} · {size} ──\n{layer.text}")
        total = sum(layer.tokens for layer in layers)
        reasons = record.prompt.reasons
        tools = ", ".join(
            f"{name} ({reasons[name]})" if name in reasons else name for name in record.prompt.tools
        )
        say(f"── total · {record.prompt.chars} chars · ~{total} tokens ──")
        say(f"── tools · {tools or 'none'} ──")
        if record.history is not None:
            first, last = record.history
            say(f"── history · messages {first} to {last} of the journal ──")
        if record.prompt.best_score is not None:
            typer.echo(
                f"── best score {record.prompt.best_score:.2f}"
                f" · temperature {record.prompt.temperature} ──"
            )
        say(f"{_fingerprints(record.prompt)}\n")


def _place(prompt: PromptRecord, layer: LayerRecord) -> str:
    """Return where a layer is if it is not in the system prompt."""
    if not prompt.beside(layer):
        return ""
    return f" · in {'an earlier' if layer.standing else 'the newest'} message"


def _fingerprints(prompt: PromptRecord) -> str:
    if not prompt.stable:
        return ""
    changed = f" (changed: {', '.join(prompt.changed)})" if prompt.changed else ""
    stable, volatile = prompt.stable[:FINGERPRINT], prompt.volatile[:FINGERPRINT]
    return f"── stable {stable}{changed} · volatile {volatile} ──"
