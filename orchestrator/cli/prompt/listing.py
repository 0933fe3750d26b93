"""``orchestrator prompt list`` and ``check``, and ``prompt show`` of a definition."""

from typing import Literal

import typer

from orchestrator.agentsfile import AgentsFile, load
from orchestrator.cli._options import AsJson, Config, Home, environment, load_settings
from orchestrator.cli._output import count, escaped, printable
from orchestrator.cli._prose import say
from orchestrator.cli._tables import print_json, table
from orchestrator.cli.prompt.assembled import render
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, ExitCode, UnknownNameError
from orchestrator.prompts.library import PromptLibrary
from orchestrator.settings import Settings
from thinker.formats.prompts.bundle import bundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.sources import included_names
from thinker.protocol.rendering import PromptRender, PromptRendered


class DefinitionReport(CamelModel):
    """One definition in ``prompt list --json``."""

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


DEFAULT_SOURCES = {
    "environment": "named by THINKER_DEFAULT_SYSTEM_PROMPT_PATH",
    "home": "of this home",
    "bundled": "bundled",
}


def library(settings: Settings, file: AgentsFile) -> PromptLibrary:
    """Read the prompt definitions as a daemon of this home would now."""
    found = PromptLibrary(settings)
    found.read(file)
    return found


def list_prompts(*, as_json: AsJson = False, config: Config = None, home: Home = None) -> None:
    """List the prompt definitions, their includes and the agents that use them."""
    settings = load_settings(home, config)
    file = load(settings.agents_file(), environment(settings)).file
    found = library(settings, file).definitions
    reports = tuple(_report(found[name], file) for name in sorted(found))
    default = settings.default_prompt()
    if as_json:
        report = DefaultPromptReport(path=str(default.path), source=default.source)
        print_json({"prompts": reports, "defaultPrompt": report})
        return
    table(
        "prompts",
        ("name", "form", "model", "includes", "tools", "agents"),
        (
            (r.name, r.form, r.model, *map(_listed, (r.includes, r.tools, r.agents)))
            for r in reports
        ),
    )
    chosen = DEFAULT_SOURCES[default.source]
    say(f"agents without a prompt of their own have {default.path} ({chosen})")


def check(*, config: Config = None, home: Home = None) -> None:
    """Check the prompt definitions, and list every problem."""
    settings = load_settings(home, config)
    found = library(settings, load(settings.agents_file(), environment(settings)).file)
    for problem in found.problems:
        say(str(problem))
    errors = sum(problem.severity == "error" for problem in found.problems)
    typer.echo(f"{count(len(found.definitions), 'prompt')}, {count(errors, 'error')}")
    raise typer.Exit(ExitCode.CONFIG if errors else ExitCode.OK)


def is_definition(settings: Settings, name: str) -> bool:
    """Return whether a name is no agent's, or a definition has it as well."""
    file = load(settings.agents_file(), environment(settings)).file
    return file.agent(name) is None or name in library(settings, file).definitions


def show(settings: Settings, name: str, layout: str, *, as_json: bool) -> None:
    """Print a definition in a layout, with the size of each section.

    Raises:
        UnknownNameError: there is no such definition.
        ConfigError: it cannot be rendered.
    """
    file = load(settings.agents_file(), environment(settings)).file
    found = library(settings, file).definitions
    if name not in found:
        raise UnknownNameError(
            f"there is no agent and no prompt '{name}'; see: orchestrator prompt list"
        )
    request = PromptRender(prompt=bundle(found, name).as_json(), layout=layout)
    rendered = render(settings, request)
    if rendered.problem:
        raise ConfigError(f"prompt '{name}': {rendered.problem}")
    typer.echo(escaped(rendered.model_dump_json(indent=2)) if as_json else _format(rendered))


def _listed(names: tuple[str, ...] | None) -> str:
    return "all" if names is None else ", ".join(names)


def _format(rendered: PromptRendered) -> str:
    sizes = (
        f"── {section.id} · from {section.source} · {len(section.text)} chars ──"
        for section in rendered.sections
    )
    text = rendered.text
    total = f"── total · {len(text)} chars · ~{-(-len(text) // 4)} tokens ──"
    return "\n".join(
        map(printable, (text, *sizes, total, f"── sha256 · {rendered.fingerprint} ──"))
    )


def _report(definition: PromptDefinition, file: AgentsFile) -> DefinitionReport:
    source = definition.prompt
    form = {"str": "text", "tuple": "parts"}.get(type(source).__name__)
    tools = definition.tools
    return DefinitionReport(
        name=definition.name,
        form=form or type(source).__name__.removesuffix("Source").lower(),
        model=definition.model,
        includes=tuple(dict.fromkeys(included_names(source))),
        tools=None if tools is None else tuple(entry.name for entry in tools),
        agents=tuple(a.agent_id for a in file.agents if a.prompt == definition.name),
    )
