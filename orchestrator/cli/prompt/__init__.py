"""``orchestrator prompt``."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import anyio
import typer

from orchestrator.agentsfile import load
from orchestrator.cli._options import AsJson, Config, Home, command_group, settings
from orchestrator.cli._output import printable
from orchestrator.cli.prompt import diff, listing
from orchestrator.cli.prompt.assembled import preview, recall, turn_of
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import UnknownAgentError
from thinker.protocol.methods import ChatRef
from thinker.protocol.prompt_record import PromptRecord

app = command_group()


class LayerReport(CamelModel):
    """One layer in ``prompt show --json``; in the system prompt or in the newest message."""

    name: str
    chars: int
    tokens: int
    text: str
    place: Literal["system", "message"]


class PromptReport(CamelModel):
    """What ``prompt show --json`` prints; ``tokens`` are estimates."""

    agent_id: str
    chars: int
    tokens: int
    layers: tuple[LayerReport, ...]
    tools: tuple[str, ...]


@app.callback()
def _group() -> None:
    """See what an agent's model would see, and the definitions."""


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="An agent, or a prompt definition.")],
    *,
    message: Annotated[str | None, typer.Option(help="What the user says to the agent.")] = None,
    chat: Annotated[str | None, typer.Option(help="In which chat; else the agent's own.")] = None,
    channel: Annotated[str, typer.Option(help="In which channel.")] = "console",
    layout: Annotated[str, typer.Option(help="How a definition is written.")] = "markdown",
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Print an agent's system prompt for a --message, or a definition in a --layout.

    No model is called. Layouts: markdown (how agents are sent it), plain, agently_text and
    agently_messages.
    """
    where = settings(home, config)
    if message is None:
        listing.show(where, name, layout, as_json=as_json)
        return
    path, now = where.agents_file(), time.time()
    file = load(path, os.environ).file
    agent = file.agent(name)
    if agent is None:
        raise UnknownAgentError(f"{path}: there is no agent '{name}'; add it or mend the name")
    place = ChatRef(channel=channel, chat_id=chat or name)
    known = recall(where.paths.journal, agent, place, message, now)
    prompt = listing.library(where, file).of(agent)
    turn = turn_of(agent, prompt, place, message, known, now)
    with TemporaryDirectory(prefix="orchestrator-") as folder:
        record = anyio.run(preview, agent, where, os.environ, turn, Path(folder))
    if as_json:
        typer.echo(_report(name, record).model_dump_json(by_alias=True, indent=2))
    else:
        _print(_report(name, record))


app.command("list")(listing.list_prompts)
app.command()(listing.check)
app.command()(diff.diff)


def _report(agent: str, record: PromptRecord) -> PromptReport:
    layers = tuple(
        LayerReport(
            name=layer.name,
            chars=len(layer.text),
            tokens=layer.tokens,
            text=layer.text,
            place="message" if layer in record.context else "system",
        )
        for layer in record.layers
    )
    return PromptReport(
        agent_id=agent,
        chars=record.chars,
        tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        tools=record.tools,
    )


def _print(report: PromptReport) -> None:
    for layer in report.layers:
        place = " · in the newest message" if layer.place == "message" else ""
        typer.echo(f"── {layer.name} · {layer.chars} chars · ~{layer.tokens} tokens{place} ──")
        typer.echo(layer.text)
    tools = ", ".join(report.tools) or "none"
    typer.echo(printable(f"── total · {report.chars} chars · ~{report.tokens} tokens ──"))
    typer.echo(printable(f"── tools · {tools} ──"))
