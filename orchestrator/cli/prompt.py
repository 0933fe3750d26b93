"""``orchestrator prompt``."""

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import anyio
import typer

from orchestrator.cli.options import AsJson, Config, Home, command_group, settings
from orchestrator.cli.preview import preview, recall, turn_of
from orchestrator.cli.text import printable
from orchestrator.control import Camel
from orchestrator.definitions import load
from orchestrator.errors import UnknownAgentError
from thinker.protocol.methods import ChatRef, PromptRecord

app = command_group()


class LayerReport(Camel):
    """One layer in ``prompt show --json``."""

    name: str
    chars: int
    tokens: int
    text: str


class PromptReport(Camel):
    """What ``prompt show --json`` prints; ``tokens`` are estimates."""

    agent_id: str
    chars: int
    tokens: int
    layers: tuple[LayerReport, ...]
    tools: tuple[str, ...]


@app.callback()
def _group() -> None:
    """See what an agent's model would see."""


@app.command()
def show(
    agent: Annotated[str, typer.Argument(help="Whose prompt.")],
    *,
    message: Annotated[str, typer.Option(help="What the user says.")],
    chat: Annotated[str | None, typer.Option(help="In which chat; else AGENT's own.")] = None,
    channel: Annotated[str, typer.Option(help="In which channel.")] = "console",
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Print the system prompt for a message, layer by layer, without calling a model."""
    where, now = settings(home, config), time.time()
    path = where.agents_file()
    definition = load(path, os.environ).file.agent(agent)
    if definition is None:
        raise UnknownAgentError(f"{path}: there is no agent '{agent}'; add it or mend the name")
    place = ChatRef(channel=channel, chat_id=chat or agent)
    known = recall(where.paths.journal, definition, place, message, now)
    turn = turn_of(definition, place, message, known, now)
    with TemporaryDirectory(prefix="orchestrator-") as folder:
        record = anyio.run(preview, definition, where, os.environ, turn, Path(folder))
    if as_json:
        typer.echo(_report(agent, record).model_dump_json(by_alias=True, indent=2))
    else:
        _print(_report(agent, record))


def _report(agent: str, record: PromptRecord) -> PromptReport:
    layers = tuple(
        LayerReport(name=layer.name, chars=len(layer.text), tokens=layer.tokens, text=layer.text)
        for layer in record.layers
    )
    return PromptReport(
        agent_id=agent,
        chars=len(record.text),
        tokens=sum(layer.tokens for layer in layers),
        layers=layers,
        tools=record.tools,
    )


def _print(report: PromptReport) -> None:
    for layer in report.layers:
        typer.echo(f"── {layer.name} · {layer.chars} chars · ~{layer.tokens} tokens ──")
        typer.echo(layer.text)
    tools = ", ".join(report.tools) or "none"
    typer.echo(printable(f"── total · {report.chars} chars · ~{report.tokens} tokens ──"))
    typer.echo(printable(f"── tools · {tools} ──"))
