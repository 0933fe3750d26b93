"""``orchestrator prompt``."""

import sys
import time
from contextlib import suppress
from typing import Annotated, Literal

import typer
from pydantic import TypeAdapter

from orchestrator.cli.client import ask_daemon
from orchestrator.cli.commands import make_command_group
from orchestrator.cli.config_examination import load_library
from orchestrator.cli.options import (
    AsJson,
    Config,
    Home,
    load_agents,
    load_settings,
    parse_chat,
)
from orchestrator.cli.output import print_text
from orchestrator.cli.tables import print_json
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import NotRunningError, OrchestratorError, UnknownAgentError
from orchestrator.extensions.prompt_inspector.commands import diff, listing
from orchestrator.extensions.prompt_inspector.commands.assembled import preview_prompt
from orchestrator.extensions.prompt_inspector.rehearsal import ImaginedMessage
from orchestrator.settings import Settings
from thinker.protocol import methods
from thinker.protocol.names import ChatName
from thinker.protocol.prompt_record import PromptPreview

GREETING = "Hello"
REQUEST = "request"
IMAGINED = TypeAdapter(ImaginedMessage)
app = make_command_group("prompt")


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
    """The output of ``prompt show --json``; ``tokens`` are estimates.

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
    Layouts for an agent: markdown or request (the body, byte for byte); for a definition: markdown
    (as sent to models), plain, agently_text or agently_messages.
    """
    settings = load_settings(home, config)
    request = layout == REQUEST
    if message is None and not request and listing.is_definition(settings, name):
        listing.show_definition(settings, name, layout, as_json=as_json)
        return
    if layout not in ("markdown", REQUEST):
        problem = f"{layout!r} is not a layout of an agent's prompt; use markdown or {REQUEST}"
        raise typer.BadParameter(problem, param_hint="--layout")
    place = _parse_place(chat or name, channel)
    asked = ImaginedMessage(name, message or GREETING, **vars(place))
    found, live = _fetch_preview(settings, asked, own_file=config is not None)
    if request:
        if not found.request:
            problem = f"agent '{name}' would send no request; see the prompt without --layout"
            raise OrchestratorError(problem)
        typer.echo(found.request, nl=sys.stdout.isatty())
        return
    report = _build_prompt_report(name, found, live=live)
    if as_json:
        print_json(report)
    else:
        _print_prompt(report)


def _parse_place(chat: str, channel: str) -> ChatName:
    return parse_chat([chat]) if ":" in chat else ChatName(channel, chat)


def _fetch_preview(
    settings: Settings, asked: ImaginedMessage, *, own_file: bool
) -> tuple[PromptPreview, bool]:
    """Ask the daemon; without one, or for another agents.json, build the preview here.

    Also returns whether the daemon was asked.
    """
    path = settings.find_agents_file()
    file = load_agents(settings)
    if file.find_agent(asked.agent) is None:
        raise UnknownAgentError(
            f"{path}: unknown agent '{asked.agent}'; add it or correct the name"
        )
    if not own_file:
        with suppress(NotRunningError):
            params = IMAGINED.dump_python(asked, by_alias=True)
            return ask_daemon(settings, methods.PROMPT_PREVIEW, params, PromptPreview), True
    return preview_prompt(settings, file, load_library(settings, file), asked, time.time()), False


app.command("list")(listing.list_prompts)
app.command()(listing.check)
app.command()(diff.diff)


def _build_prompt_report(agent: str, found: PromptPreview, *, live: bool) -> PromptReport:
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


def _print_prompt(report: PromptReport) -> None:
    for layer in report.layers:
        place = " · in the newest message" if layer.place == "message" else ""
        typer.echo(f"── {layer.name} · {layer.chars} chars · ~{layer.tokens} tokens{place} ──")
        print_text(layer.text)
    tools = ", ".join(report.tools) or "none"
    source = "by the running daemon" if report.live else "without a daemon"
    total = f"{report.chars} chars · ~{report.tokens} tokens · {source}"
    print_text(f"── total · {total} ──")
    print_text(f"── tools · {tools} ──")
