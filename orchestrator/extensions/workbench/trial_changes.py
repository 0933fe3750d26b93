"""Apply the changes of a trial to what was recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from orchestrator.control.trials import TrialChange
from orchestrator.errors import ConfigError
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.trial_worker import PERSONAS, SKILLS
from orchestrator.journal.memory.prompt_memory import PromptMemory
from thinker.protocol.messages import JsonObject, Reasoning, ToolSpec
from thinker.protocol.methods import EVERY, TurnRun
from thinker.protocol.prompt_record import PromptRecord

PROMPTS = "prompts/"
AGENTS = "agents.json"
SUMMARY = "## Previous Conversation Context\n"  # begins the layer of that name
OF_SKILLS = ("playbooks", "skills")  # layers
NO_MEMORY = PromptMemory()


@dataclass(frozen=True, kw_only=True)
class TodaysSources:
    """What layers are made of now: the memory, the agent's definition and its tools."""

    memory: PromptMemory = NO_MEMORY
    definition: JsonObject | None = None
    tools: tuple[ToolSpec, ...] = ()


NOTHING_NEW = TodaysSources()


def list_renewed_layers(change: TrialChange, part: RecordedPart) -> tuple[str, ...]:
    """Return the layers that a change makes anew, see `TurnRun.renewed`."""
    if change.as_today:
        return (EVERY,)
    own = f"{PERSONAS}{part.agent_id}/"
    found: list[str] = []
    for name in change.files:
        if name.startswith((SKILLS, f"{own}{SKILLS}")):
            found += OF_SKILLS
        elif name in (f"{own}instructions.md", AGENTS) or _uses_definition(part, name):
            found.append("base")
    return tuple(dict.fromkeys(found))


def _uses_definition(part: RecordedPart, name: str) -> bool:
    """Return whether a part's prompt is made of a file; one without definitions has templates."""
    if not name.startswith(PROMPTS) or part.definition is None:
        return name.startswith(PROMPTS)
    found = part.definition.get("definitions")
    return isinstance(found, dict) and PurePath(name).stem in found


def apply_change(
    run: TurnRun, change: TrialChange, part: RecordedPart, today: TodaysSources
) -> TurnRun:
    """Return a recorded run with the changes of a trial.

    Raises:
        ConfigError: the change names a layer or tool that there is not.
    """
    renewed = list_renewed_layers(change, part)
    record = _change_settings(_replace_layers(part.record, change.layers), change)
    update: dict[str, object] = {"given": record, "renewed": renewed}
    if renewed:
        update |= today.memory._asdict()
        update["summary"] = _find_summary(part.record)
    if renewed and part.definition is not None and today.definition is not None:
        update["prompt"] = today.definition
    if change.as_today and today.tools:
        update["tools"] = today.tools
    run = run.model_copy(update=update)
    return _change_tools(run, change, today.tools)


def add_edits(change: TrialChange, edits: Mapping[str, object]) -> TrialChange:
    """Return a change with what an agents.json under trial edits of a prompt's settings."""
    names = [name for name in ("temperature", "effort") if getattr(change, name) is None]
    return change.model_copy(update={name: edits[name] for name in names if name in edits})


def _find_summary(record: PromptRecord) -> str | None:
    found = (layer.text for layer in record.layers if layer.name == "summary")
    text = next(found, None)
    return None if text is None else text.removeprefix(SUMMARY)


def _replace_layers(record: PromptRecord, texts: Mapping[str, str]) -> PromptRecord:
    unknown = texts.keys() - {layer.name for layer in record.layers}
    if unknown:
        known = ", ".join(layer.name for layer in record.layers)
        raise ConfigError(f"the prompt has no layer {min(unknown)!r}; it has {known}")
    layers = tuple(
        layer.model_copy(update={"text": texts.get(layer.name, layer.text)})
        for layer in record.layers
    )
    return record.model_copy(update={"layers": layers})


def _change_settings(record: PromptRecord, change: TrialChange) -> PromptRecord:
    """Return the record with another temperature or effort."""
    if record.settings is None or (change.temperature is None and change.effort is None):
        return record
    update: dict[str, object] = {}
    if change.temperature is not None:
        update["temperature"] = change.temperature
    if change.effort is not None:
        before = record.settings.reasoning or Reasoning()
        update["reasoning"] = before.replace_effort(change.effort)
    settings = record.settings.model_copy(update=update)
    return record.model_copy(update={"settings": settings})


def _change_tools(run: TurnRun, change: TrialChange, today: Sequence[ToolSpec]) -> TurnRun:
    """Return a run that offers more tools, or fewer."""
    if run.given is None or not (change.add_tools or change.remove_tools):
        return run
    known = {tool.name: tool for tool in (*today, *run.tools)}
    unknown = [name for name in change.add_tools if name not in known]
    if unknown:
        raise ConfigError(f"the agent has no tool {unknown[0]!r}; see orchestrator tools")
    removed = {*change.remove_tools}
    named = dict.fromkeys((*run.given.tools, *change.add_tools))
    tools = {tool.name: tool for tool in run.tools}
    tools |= {name: known[name] for name in change.add_tools}
    given = run.given.model_copy(
        update={"tools": tuple(sorted(name for name in named if name not in removed))}
    )
    kept = tuple(tool for name, tool in tools.items() if name not in removed)
    return run.model_copy(update={"given": given, "tools": kept})
