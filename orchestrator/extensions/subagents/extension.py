"""The extension for agents and prompts as tools of others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from orchestrator.extension import Extension

if TYPE_CHECKING:
    from orchestrator.agentsfile import AgentsFile
    from orchestrator.tools.builtin.host_tool import DelegatingTool, HostTool
    from orchestrator.turns.recipe import Recipe
    from thinker.formats.prompts.definition import PromptDefinition
    from thinker.formats.prompts.registry import Registry


class SubagentsExtension(Extension):
    """Gives tasks to subagents in processes of their own, and chats to other agents."""

    name = "subagents"

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.subagents import agent_tools, spawn_subagent

        return spawn_subagent.SPAWN_SUBAGENT, agent_tools.NOTIFY

    def build_prompt_tools(
        self,
        definition: "PromptDefinition",
        known: "Mapping[str, PromptDefinition]",
        names: "Registry",
        agents: "AgentsFile",
        environment: Mapping[str, str],
    ) -> "Iterable[tuple[str, DelegatingTool]]":
        from orchestrator.extensions.subagents import prompt_entries

        return prompt_entries.build_prompt_tools(definition, known, names, agents, environment)

    def list_recipes(self) -> "Mapping[str, type[Recipe]]":
        from orchestrator.extensions.subagents.subagent_turn import SubagentRecipe

        return {"subagent": SubagentRecipe}
