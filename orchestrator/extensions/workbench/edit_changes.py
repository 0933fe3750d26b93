"""What an edit changes of the agents whose gate it must pass: the change that a trial makes."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from orchestrator.agentsfile import AgentDefinition, AgentsFile, AgentsFileError, parse_agents_file
from orchestrator.control.editing import FileEdit
from orchestrator.control.trials import TrialChange
from orchestrator.extensions.workbench.gate_settings import GateFields, GateSettings
from orchestrator.prompts.prompt_set import PromptSet

MAIN, PROMPTS, SKILLS, PERSONAS = "agents.json", "prompts/", "skills/", "personas/"


def find_gate(agent: AgentDefinition) -> GateSettings | None:
    """Return the gate of an agent, if it has one."""
    return agent.get_fields(GateFields).gate


def list_gated_changes(
    edit: FileEdit, agents: AgentsFile, prompts: PromptSet, environ: Mapping[str, str]
) -> dict[str, TrialChange]:
    """Return what a trial of an edit changes, by the id of each agent with a gate that it concerns.

    Of agents.json a trial can change the model, what it is told to do, and how.
    """
    gated = [agent for agent in agents.agents if agent.enabled and find_gate(agent) is not None]
    if not gated:
        return {}
    if edit.name == MAIN:
        return dict(_compare_agents(gated, edit.text or "", environ))
    change = TrialChange(files={edit.name: edit.text or ""})
    return {agent.agent_id: change for agent in gated if _concerns(edit.name, agent, prompts)}


def _concerns(name: str, agent: AgentDefinition, prompts: PromptSet) -> bool:
    """Return whether an agent uses a prompt, a skill or a persona."""
    path = PurePosixPath(name)
    if name.startswith(PROMPTS):
        bundle = prompts.find_bundle(agent)
        return path.stem == agent.prompt or (bundle is not None and path.stem in bundle.definitions)
    if name.startswith(SKILLS):
        return any(fnmatchcase(path.parent.name, pattern) for pattern in agent.skills)
    return name.startswith(f"{PERSONAS}{agent.agent_id}/")


def _compare_agents(
    gated: list[AgentDefinition], text: str, environ: Mapping[str, str]
) -> Iterator[tuple[str, TrialChange]]:
    try:
        after = parse_agents_file(text.encode(), environ=environ).file
    except AgentsFileError:
        return
    for old in gated:
        new = after.find_agent(old.agent_id)
        change = None if new is None or not new.enabled else _compare_agent(old, new, text)
        if change is not None and change != TrialChange():
            yield old.agent_id, change


def _compare_agent(old: AgentDefinition, new: AgentDefinition, text: str) -> TrialChange:
    changed: dict[str, object] = {
        name: getattr(new, name)
        for name in ("temperature", "effort")
        if getattr(new, name) != getattr(old, name)
    }
    if (new.llm_provider, new.model) != (old.llm_provider, old.model):
        changed["model"] = f"{new.llm_provider}/{new.model}"
    if (new.system_prompt, new.prompt) != (old.system_prompt, old.prompt):
        changed["files"] = {MAIN: text}
    return TrialChange.model_validate(changed)
