"""``orchestrator prompt``."""

import sys
import time
from contextlib import suppress
from typing import Annotated, Literal

import typer

from orchestrator.agentsfile import load
from orchestrator.cli._client import ask
from orchestrator.cli._options import (
    AsJson,
    Config,
    Home,
    chat_named,
    command_group,
    environment,
    load_settings,
)
from orchestrator.cli._output import escaped
from orchestrator.cli._prose import say
from orchestrator.cli.prompt import diff, listing
from orchestrator.cli.prompt.assembled import preview
from orchestrator.control import protocol
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import NotRunningError, OrchestratorError, UnknownAgentError
from orchestrator.settings import Settings
from orchestrator.turns.rehearsal import ImaginedMessage
from thinker.protocol.names import ChatName
from thinker.protocol.prompt_record import PromptPreview

GREETING = "Hello"
REQUEST = "request"
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
    """What ``prompt show --json`` prints; ``tokens`` are estimates.

    ``live``: a running daemon built it. ``request`` is the body of the request, as sent; empty for
    an agent without a provider.
    """

    agent_id: str
    chars: int
    tokens: int
    layers: tuple[LayerReport, ...]
    tools: tuple[str, ...]
    live: bool
    request: str


@app.command()
def show(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="An agent's id, or the name of a prompt definition."),
    ],
    *,
    message: Annotated[
        str | None, typer.Option(help=f"The user's message to an agent (default: {GREETING}).")
    ] = None,
    chat: Annotated[
        str | None,
        typer.Option(help="The chat, such as telegram:123 (default: one of the console)."),
    ] = None,
    channel: Annotated[str, typer.Option(help="Its channel, if --chat has none.")] = "console",
    layout: Annotated[str, typer.Option(help="Form in which to print it.")] = "markdown",
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Print what an agent's model would be sent for a --message, or a definition in a --layout.

    No model is called. Without a daemon, tools of MCP servers are those that each listed last.
    Layouts of an agent's: markdown, and request (the request's body, byte for byte); of a
    definition: markdown (as sent to models), plain, agently_text and agently_messages.
    """
    settings = load_settings(home, config)
    request = layout == REQUEST
    if message is None and not request and listing.is_definition(settings, name):
        listing.show(settings, name, layout, as_json=as_json)
        return
    if layout not in ("markdown", REQUEST):
        problem = f"{layout!r} is no layout of an agent's prompt; use markdown or {REQUEST}"
        raise typer.BadParameter(problem, param_hint="--layout")
    place = _place(chat or name, channel)
    asked = ImaginedMessage(name, message or GREETING, **vars(place))
    found, live = _previewed(settings, asked, own_file=config is not None)
    if request:
        if not found.request:
            problem = f"agent '{name}' would send no request; see the prompt without --layout"
            raise OrchestratorError(problem)
        typer.echo(found.request, nl=sys.stdout.isatty())
        return
    report = _report(name, found, live=live)
    if as_json:
        typer.echo(escaped(report.model_dump_json(by_alias=True, indent=2)))
    else:
        _print(report)


def _place(chat: str, channel: str) -> ChatName:
    return chat_named([chat]) if ":" in chat else ChatName(channel, chat)


def _previewed(
    settings: Settings, asked: ImaginedMessage, *, own_file: bool
) -> tuple[PromptPreview, bool]:
    """Ask the running daemon, unless another agents.json is named; without one do it here.

    Returns also whether the daemon was asked.
    """
    path = settings.agents_file()
    file = load(path, environment(settings)).file
    if file.agent(asked.agent) is None:
        raise UnknownAgentError(
            f"{path}: there is no agent '{asked.agent}'; add it or correct the name"
        )
    if not own_file:
        with suppress(NotRunningError):
            params = protocol.PromptAsked.from_object(asked)
            return ask(settings, protocol.PROMPT_PREVIEW, params, PromptPreview), True
    return preview(settings, file, listing.library(settings, file), asked, time.time()), False


app.command("list")(listing.list_prompts)
app.command()(listing.check)
app.command()(diff.diff)


def _report(agent: str, found: PromptPreview, *, live: bool) -> PromptReport:
    record = found.record
    layers = tuple(
        LayerReport.from_object(
            layer,
            chars=len(layer.text),
            place="message" if layer in record.context else "system",
        )
        for layer in record.layers
    )
    tokens = sum(layer.tokens for layer in layers)
    facts = {"tokens": tokens, "layers": layers, "live": live, "request": found.request}
    return PromptReport.from_object(record, agent_id=agent, **facts)


def _print(report: PromptReport) -> None:
    for layer in report.layers:
        place = " · in the newest message" if layer.place == "message" else ""
        typer.echo(f"── {layer.name} · {layer.chars} chars · ~{layer.tokens} tokens{place} ──")
        say(layer.text)
    tools = ", ".join(report.tools) or "none"
    source = "by the running daemon" if report.live else "without a daemon"
    total = f"{report.chars} chars · ~{report.tokens} tokens · {source}"
    say(f"── total · {total} ──")
    say(f"── tools · {tools} ──")
