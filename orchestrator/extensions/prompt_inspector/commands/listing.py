"""``orchestrator prompt list`` and ``check``, and ``prompt show`` of a definition."""

from typing import Literal

import typer

from orchestrator.agentsfile import AgentsFile
from orchestrator.cli.config_examination import load_library
from orchestrator.cli.options import AsJson, Config, Home, load_agents, load_settings
from orchestrator.cli.output import escape_hidden, format_count, make_printable, print_text
from orchestrator.cli.tables import Columns, print_json, print_records
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, ExitCode, UnknownNameError
from orchestrator.extensions.prompt_inspector.commands.prompt_worker import render_prompt
from orchestrator.settings import Settings
from thinker.formats.prompts.bundle import bundle_definitions
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.sources import list_included_names
from thinker.protocol.rendering import PromptRender, PromptRendered


class DefinitionReport(CamelModel):
    """One definition in ``prompt list --json``; without ``tools`` (null) all can be called."""

    name: str
    form: str
    model: str
    includes: tuple[str, ...]
    tools: tuple[str, ...] | None
    agents: tuple[str, ...]


class DefaultPromptReport(CamelModel):
    """The base prompt of agents without their own in ``prompt list --json``."""

    path: str
    source: Literal["environment", "home", "bundled"]


COLUMNS: Columns = {
    "name": "name",
    "form": "form",
    "model": "model",
    "includes": lambda found: ", ".join(found.includes),
    "tools": lambda found: "all" if found.tools is None else ", ".join(found.tools) or "none",
    "agents": lambda found: ", ".join(found.agents),
}
DEFAULT_SOURCES = {
    "environment": "named by THINKER_DEFAULT_SYSTEM_PROMPT_PATH",
    "home": "of this home",
    "bundled": "bundled",
}


def list_prompts(*, as_json: AsJson = False, config: Config = None, home: Home = None) -> None:
    """List the prompt definitions, their includes and the agents that use them."""
    settings = load_settings(home, config)
    file = load_agents(settings)
    found = load_library(settings, file).definitions
    reports = tuple(_build_definition_report(found[name], file) for name in sorted(found))
    default = settings.find_default_prompt()
    if as_json:
        report = DefaultPromptReport(path=str(default.path), source=default.source)
        print_json({"prompts": reports, "defaultPrompt": report})
        return
    print_records("prompts", reports, COLUMNS)
    chosen = DEFAULT_SOURCES[default.source]
    print_text(f"agents without their own prompt use {default.path} ({chosen})")


def check(*, config: Config = None, home: Home = None) -> None:
    """Check the prompt definitions, and list every problem."""
    settings = load_settings(home, config)
    found = load_library(settings, load_agents(settings))
    for problem in found.problems:
        print_text(str(problem))
    errors = sum(problem.severity == "error" for problem in found.problems)
    typer.echo(f"{format_count(len(found.definitions), 'prompt')}, {format_count(errors, 'error')}")
    raise typer.Exit(ExitCode.CONFIG if errors else ExitCode.OK)


def is_definition(settings: Settings, name: str) -> bool:
    """Return whether a name is a definition's, or no agent's."""
    file = load_agents(settings)
    return file.find_agent(name) is None or name in load_library(settings, file).definitions


def show_definition(settings: Settings, name: str, layout: str, *, as_json: bool) -> None:
    """Print a definition in a layout, with the size of each section.

    Raises:
        UnknownNameError: the definition does not exist.
        ConfigError: the definition cannot be rendered.
    """
    file = load_agents(settings)
    found = load_library(settings, file).definitions
    if name not in found:
        raise UnknownNameError(
            f"no agent or prompt is called '{name}'; see: orchestrator prompt list"
        )
    request = PromptRender(prompt=bundle_definitions(found, name).dump_json(), layout=layout)
    rendered = render_prompt(settings, request)
    if rendered.problem:
        raise ConfigError(f"prompt '{name}': {rendered.problem}")
    typer.echo(
        escape_hidden(rendered.model_dump_json(indent=2)) if as_json else _format_rendered(rendered)
    )


def _format_rendered(rendered: PromptRendered) -> str:
    sizes = (
        f"── {section.id} · from {section.source} · {len(section.text)} chars ──"
        for section in rendered.sections
    )
    text = rendered.text
    total = f"── total · {len(text)} chars · ~{-(-len(text) // 4)} tokens ──"
    return "\n".join(
        map(make_printable, (text, *sizes, total, f"── sha256 · {rendered.fingerprint} ──"))
    )


def _build_definition_report(definition: PromptDefinition, file: AgentsFile) -> DefinitionReport:
    source = definition.prompt
    form = {"str": "text", "tuple": "parts"}.get(type(source).__name__)
    tools = () if definition.tool_choice == "none" else definition.tools
    return DefinitionReport(
        name=definition.name,
        form=form or type(source).__name__.removesuffix("Source").lower(),
        model=definition.model,
        includes=tuple(dict.fromkeys(list_included_names(source))),
        tools=None if tools is None else tuple(entry.name for entry in tools),
        agents=tuple(a.agent_id for a in file.agents if a.prompt == definition.name),
    )
