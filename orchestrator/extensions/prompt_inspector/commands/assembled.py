"""Assemble an agent's prompt as for a turn, without a daemon or model call.

A separate worker with its own prompt file does it. The journal is copied into memory, so that the
file is only read.
"""

from orchestrator.agentsfile import AgentDefinition, AgentsFile
from orchestrator.cli.options import load_environment
from orchestrator.extensions.prompt_inspector.commands.agent_tool_list import list_offered_tools
from orchestrator.extensions.prompt_inspector.commands.prompt_worker import assemble_prompt
from orchestrator.extensions.prompt_inspector.rehearsal import ImaginedMessage, rehearse_turn
from orchestrator.journal.opening import open_trial_state
from orchestrator.prompts.prompt_set import PromptSet, build_environments
from orchestrator.settings import Settings
from orchestrator.spending.spending_rules import SpendingRules
from orchestrator.turns.recipe import build_turn_run
from orchestrator.turns.turn_context import LoopFacts
from thinker.protocol.methods import TurnRun
from thinker.protocol.prompt_record import PromptPreview


def preview_prompt(
    settings: Settings,
    agents: AgentsFile,
    prompts: PromptSet,
    asked: ImaginedMessage,
    now: float,
) -> PromptPreview:
    """Return the request to the agent's model for a message; ``now`` in seconds.

    MCP servers' tools are those that they last listed. Without an embeddings model, memories and
    tools are chosen by words.

    Raises:
        JournalError: the journal cannot be read.
        WorkerError: the worker could not be started, or the request failed.
    """
    definition = agents.find_agent(asked.agent)
    if definition is None:
        raise AssertionError(asked.agent)
    turn = _build_turn(settings, agents, prompts, definition, asked, now)
    agent = prompts.apply_prompt_model(definition, agents)
    return assemble_prompt(settings, agent, prompts.templates, turn)


def _build_turn(
    settings: Settings,
    agents: AgentsFile,
    prompts: PromptSet,
    definition: AgentDefinition,
    asked: ImaginedMessage,
    now: float,
) -> TurnRun:
    at = round(now * 1000)
    rules = SpendingRules(agents, load_environment(settings), lambda: at, at)
    with open_trial_state(settings.journal) as db:
        inputs = rehearse_turn(db, definition, LoopFacts(rules), asked)
        tools = list_offered_tools(db, settings, agents, prompts, definition, at)
    environments = build_environments(definition, agents, inputs.context.address)
    return build_turn_run(inputs, prompts, tools, environments)
