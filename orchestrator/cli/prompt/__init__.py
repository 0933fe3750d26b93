"""``orchestrator prompt``."""

import time
from typing import Annotated, Literal

import typer

from orchestrator.agentsfile import load
from orchestrator.cli._options import (
    AsJson,
    Config,
    Home,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._output import escaped, printable
from orchestrator.cli.prompt import diff, listing
from orchestrator.cli.prompt.assembled import load_context, preview, preview_turn
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import UnknownAgentError
from thinker.protocol.methods import ChatRef
from thinker.protocol.prompt_record import PromptRecord

app = command_group("prompt")


class LayerReport(CamelModel):
    """One layer in ``prompt show --json``.

    ``place`` is where the layer is sent: in the system prompt or in the newest message.
    """

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


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="An agent's id, or the name of a prompt definition."),
    ],
    *,
    message: Annotated[str | None, typer.Option(help="The user's message to the agent.")] = None,
    chat: Annotated[
        str | None, typer.Option(help="Id of the chat (default: the agent's id).")
    ] = None,
    channel: Annotated[str, typer.Option(help="The chat's channel.")] = "console",
    layout: Annotated[str, typer.Option(help="Form in which to print a definition.")] = "markdown",
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Print an agent's prompt for a --message, or a definition in a --layout.

    No model is called. Layouts: markdown (as sent to models), plain, agently_text and
    agently_messages.
    """
    settings = load_settings(home, config)
    if message is None:
        listing.show(settings, name, layout, as_json=as_json)
        return
    path, now = settings.agents_file(), time.time()
    file = load(path, environment(settings)).file
    agent = file.agent(name)
    if agent is None:
        raise UnknownAgentError(f"{path}: there is no agent '{name}'; add it or correct the name")
    chat_ref = ChatRef(channel=channel, chat_id=chat or name)
    stored = load_context(settings.paths.journal, file, agent, chat_ref, message, now)
    prompt = listing.library(settings, file).bundle_json(agent)
    turn = preview_turn(agent, prompt, chat_ref, message, stored, now)
    record = preview(agent, settings, turn)
    report = _report(name, record)
    if as_json:
        typer.echo(escaped(report.model_dump_json(by_alias=True, indent=2)))
    else:
        _print(report)


app.command("list")(listing.list_prompts)
app.command()(listing.check)
app.command()(diff.diff)


def _report(agent: str, record: PromptRecord) -> PromptReport:
    layers = tuple(
        LayerReport.from_object(
            layer,
            chars=len(layer.text),
            place="message" if layer in record.context else "system",
        )
        for layer in record.layers
    )
    tokens = sum(layer.tokens for layer in layers)
    return PromptReport.from_object(record, agent_id=agent, tokens=tokens, layers=layers)


def _print(report: PromptReport) -> None:
    for layer in report.layers:
        place = " · in the newest message" if layer.place == "message" else ""
        typer.echo(f"── {layer.name} · {layer.chars} chars · ~{layer.tokens} tokens{place} ──")
        typer.echo(printable(layer.text))
    tools = ", ".join(report.tools) or "none"
    typer.echo(printable(f"── total · {report.chars} chars · ~{report.tokens} tokens ──"))
    typer.echo(printable(f"── tools · {tools} ──"))
