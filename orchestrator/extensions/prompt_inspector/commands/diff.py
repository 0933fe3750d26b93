"""``orchestrator prompt diff``: compare two turns, or two versions of a definition.

Each side becomes a mapping from the name of a part to its text; the parts that differ are shown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Annotated

import orjson
import typer
from pydantic import ValidationError

from orchestrator.cli.config_examination import load_library
from orchestrator.cli.options import AsJson, Config, Home, load_agents, load_settings
from orchestrator.cli.output import escape_hidden, format_count, make_printable
from orchestrator.control.camel_model import CamelModel
from orchestrator.errors import ConfigError, OrchestratorError, UnknownNameError
from orchestrator.extensions.prompt_inspector.commands.prompt_worker import render_prompt
from orchestrator.journal.db.database import Database
from orchestrator.journal.inspect import trace as journal
from orchestrator.journal.opening import open_for_reading
from orchestrator.journal.turns import prompt_records
from orchestrator.settings import Settings
from thinker.formats.prompts import definition_files
from thinker.formats.prompts.bundle import PromptBundle, bundle_definitions
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.problem import DefinitionError
from thinker.protocol.messages import ToolSpec
from thinker.protocol.names import format_turn_name
from thinker.protocol.prompt_record import PromptRecord
from thinker.protocol.rendering import PromptRender

Contents = Mapping[str, str]
Definitions = Mapping[str, PromptDefinition]


class PromptChange(CamelModel):
    """A part that differs. ``before`` or ``after`` is None where it is absent.

    ``diff`` is a unified diff of the two.
    """

    what: str
    before: str | None
    after: str | None
    diff: str


class DiffReport(CamelModel):
    """The output of ``prompt diff --json``."""

    before: str
    after: str
    changes: tuple[PromptChange, ...]


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    ``bundle`` is the prompt definition, None for a turn without one. ``turn`` is what a turn's
    model received, None for a definition.
    """

    name: str
    bundle: PromptBundle | None
    turn: Contents | None = None


def diff(
    first: Annotated[
        str, typer.Argument(metavar="FIRST", help="A turn, a message, a definition or its file.")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="SECOND", help="The same, to compare FIRST with.")
    ] = None,
    *,
    as_json: AsJson = False,
    config: Config = None,
    home: Home = None,
) -> None:
    """Show what changed between two turns, two definitions, or two versions of one.

    Without SECOND, FIRST is an agent or a definition, compared with what its last turn used.
    """
    settings = load_settings(home, config)
    if second is None:
        before, after = _load_last_use_sides(settings, first)
    else:
        file = load_agents(settings)
        known = load_library(settings, file).definitions
        before, after = _load_side(settings, known, first), _load_side(settings, known, second)
    if before.turn is not None and after.turn is not None:
        found = compare_contents(before.turn, after.turn)
    else:
        found = compare_contents(
            _render_contents(settings, before), _render_contents(settings, after)
        )
    report = DiffReport(before=before.name, after=after.name, changes=found)
    typer.echo(
        escape_hidden(report.model_dump_json(by_alias=True, indent=2))
        if as_json
        else _format_report(report)
    )


def compare_contents(before: Contents, after: Contents) -> tuple[PromptChange, ...]:
    """Return the parts that differ, in the order of ``before``, then the new ones."""
    return tuple(
        PromptChange(
            what=what, before=old, after=new, diff=_format_unified_diff(old or "", new or "")
        )
        for what, old, new in (
            (key, before.get(key), after.get(key)) for key in {**before, **after}
        )
        if old != new
    )


def build_turn_contents(
    record: PromptRecord, used: PromptBundle | None, tools: tuple[ToolSpec, ...] | None
) -> Contents:
    """Return the input of a turn's model: settings, definition, tools, layers, fingerprints.

    ``tools`` are all tools that the turn could offer; None when the journal has no record of them.
    """
    model_settings = {} if record.settings is None else record.settings.model_dump(mode="json")
    found = {f"setting {name}": _format_value(value) for name, value in model_settings.items()}
    if used is not None:
        found |= _build_field_contents(used)
    found |= _build_tool_contents(record.tools, tools or ())
    found |= {f"layer {layer.name}": layer.text for layer in record.layers}
    return found | {"fingerprint stable": record.stable, "fingerprint volatile": record.volatile}


def _build_tool_contents(offered: tuple[str, ...], known: tuple[ToolSpec, ...]) -> Contents:
    specs = {tool.name: tool.model_dump(mode="json", exclude_defaults=True) for tool in known}
    return {"tools": "\n".join(offered)} | {
        f"tool {name}": orjson.dumps(specs[name], option=orjson.OPT_INDENT_2).decode()
        for name in offered
        if name in specs
    }


def _build_field_contents(found: PromptBundle) -> dict[str, str]:
    """Return the fields of the definitions, without text that is compared by section.

    For included definitions, only text and variables have an effect.
    """
    included = {definition.name for definition in found.list_included_definitions()}
    return {
        f"definition{_format_origin(name, found)}: {field}": _format_value(value)
        for name, definition in found.definitions.items()
        for field, value in definition.model_dump(
            mode="json",
            by_alias=True,
            exclude_none=True,
            exclude={"name", "prompt"} if name in included else {"name"},
            include={"variables"} if name in included - {found.name} else None,
        ).items()
        if value not in ([], {})
    }


def _format_origin(name: str, found: PromptBundle) -> str:
    """Return a label for a definition; empty for the compared one."""
    return "" if name == found.name else f" of {name}"


def _render_contents(settings: Settings, side: Side) -> Contents:
    """Return a definition's fields and its sections as a worker renders them.

    Raises:
        ConfigError: the side has no definition, or it cannot be rendered.
    """
    if side.bundle is None:
        raise ConfigError(f"{side.name} used no prompt definition; compare it with another turn")
    request = PromptRender(prompt=side.bundle.dump_json(), layout="markdown")
    rendered = render_prompt(settings, request)
    if rendered.problem:
        raise ConfigError(f"{side.name}: {rendered.problem}")
    found = _build_field_contents(side.bundle)
    for section in filter(lambda section: section.text, rendered.sections):
        what = f"section {section.id}{_format_origin(section.source, side.bundle)}"
        again = sum(key == what or key.startswith(f"{what} (") for key in found)
        found[f"{what} ({again + 1})" if again else what] = section.text
    return found


def _load_last_use_sides(settings: Settings, name: str) -> tuple[Side, Side]:
    """Return a definition at its last use by an agent, and as it is now."""
    file = load_agents(settings)
    agent = file.find_agent(name)
    current = name if agent is None else agent.prompt
    if current is None:
        raise ConfigError(f"agent '{name}' has no prompt definition; name two turns to compare")
    known = load_library(settings, file).definitions
    with open_for_reading(settings.journal) as db:
        used = find_last_use(db, name)
        if used is None:
            raise UnknownNameError(
                f"the journal has no turn of an agent or a prompt definition '{name}'; "
                "name two turns or definitions to compare"
            )
        return _load_turn_side(db, *used), _load_definition_side(known, current)


def _load_side(settings: Settings, known: Definitions, name: str) -> Side:
    """Look up a name: a definition, a definition's file, or a turn."""
    if name in known or Path(name).suffix in definition_files.ENDINGS:
        return _load_definition_side(known, name)
    with open_for_reading(settings.journal) as db:
        return _load_turn_side(db, name)


def _load_turn_side(db: Database, name: str, at: int | None = None) -> Side:
    """Return the input of a turn's model, the last or at a time (milliseconds since the epoch)."""
    every = journal.list_prompts(db, journal.load_trace(db, name))
    recorded = [record for record in every if at in (None, record.at)]
    if not recorded:
        raise OrchestratorError(f"{name}: this turn called no model, or its record was removed")
    newest = recorded[-1]
    sources = prompt_records.load_prompt_sources(db, newest.turn_id, newest.at)
    title = f"turn {format_turn_name(newest.turn_id)}"
    used = sources.definition
    try:
        found = None if used is None else PromptBundle.model_validate(used)
    except ValidationError as error:
        raise OrchestratorError(
            f"{title}: another version stored its prompt definition; compare it with that version"
        ) from error
    return Side(title, found, build_turn_contents(newest.prompt, found, sources.tools))


def _load_definition_side(known: Definitions, name: str) -> Side:
    """Load a definition by its name or its file.

    Raises:
        ConfigError: the definition does not exist or is invalid.
    """
    if Path(name).suffix in definition_files.ENDINGS:
        file = definition_files.load_definition_file(Path(name))
        if file.definition is None:
            raise ConfigError("\n".join(f"{name}: {problem}" for problem in file.problems))
        return Side(
            name, _build_bundle({**known, file.definition.name: file.definition}, Path(name).stem)
        )
    if name not in known:
        raise ConfigError(f"unknown prompt '{name}'; see: orchestrator prompt list")
    return Side(f"prompt {name}", _build_bundle(known, name))


def _build_bundle(known: Definitions, name: str) -> PromptBundle:
    try:
        return bundle_definitions(known, name)
    except DefinitionError as error:
        raise ConfigError(f"prompt '{name}': {error}") from error


def _format_value(value: object) -> str:
    """Format a value: text as it is, a list with one line per item, anything else as JSON."""
    if isinstance(value, list):
        return "\n".join(map(_format_value, value))
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _format_unified_diff(before: str, after: str) -> str:
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="")
    return "\n".join(list(lines)[2:])  # the first two are the headers with file names


def _format_report(report: DiffReport) -> str:
    total = format_count(len(report.changes), "change")
    return make_printable(
        "\n".join((f"{report.before} → {report.after}: {total}", *_format_changes(report)))
    )


def _format_changes(report: DiffReport) -> Iterator[str]:
    for change in report.changes:
        old, new = (text or "none" for text in (change.before, change.after))
        if "\n" not in old + new and not change.what.startswith(("layer", "section")):
            yield f"── {change.what}: {old} → {new} ──"
        else:
            yield f"── {change.what} ──\n{change.diff}"


def find_last_use(db: Database, name: str) -> tuple[str, int] | None:
    """Return the newest prompt with a definition, of the agent or the definition of this name.

    Returns the turn and the time at which it sent that prompt, as a handoff within a turn changes
    the definition.
    """
    found = db.execute(
        "SELECT turn_id, at FROM turn_prompt JOIN turn ON turn.id = turn_id"
        " JOIN prompt_part ON digest = definition"
        " WHERE coalesce(turn_prompt.agent_id, turn.agent_id) = ?1"
        " OR json_extract(prompt_part.body, '$.name') = ?1"
        " ORDER BY at DESC LIMIT 1",
        (name,),
    ).fetchone()
    return None if found is None else (str(found[0]), int(found[1]))
