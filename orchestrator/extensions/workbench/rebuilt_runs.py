"""Build again what a worker was given for a recorded request, with or without changes."""

from orchestrator.agentsfile import AgentsFile
from orchestrator.extensions.workbench.recorded_parts import RecordedPart
from orchestrator.extensions.workbench.recorded_turns import RecordedTurn
from orchestrator.journal.turns.outbox import Address
from orchestrator.prompts.prompt_set import build_environments, select_text_variables
from orchestrator.turns import turn_inputs
from thinker.formats.prompts.bundle import PromptBundle
from thinker.protocol.environments import Environments
from thinker.protocol.messages import ToolResult, cap_result
from thinker.protocol.methods import TurnRun

FAR = 1e10  # seconds since the epoch: no trial ends by the deadline of its turn


def build_recorded_run(
    turn: RecordedTurn, number: int, agents: AgentsFile, name: str = ""
) -> TurnRun:
    """Return the turn as it was before its request ``number``, from 0.

    ``name`` is what it is called in the trial; it keeps its own id without one.
    """
    place = turn.requests[number].place if number < len(turn.requests) else len(turn.parts[0].steps)
    part = turn.parts[turn.requests[min(number, len(turn.requests) - 1)].part]
    history = (
        cap_result(message) if isinstance(message, ToolResult) else message
        for message in part.history
    )
    own = part.settings.get("turn")
    run = TurnRun.model_validate(
        {
            **(own if isinstance(own, dict) else {}),
            "turn_id": name or turn.turn_id,
            "chat": turn.chat,
            "messages": part.messages,
            "history": tuple(history),
            "prompt": part.definition,
            "environments": _find_environments(turn, part, agents),
            "steps": tuple(step.replace_results(cap_result) for step in part.steps[:place]),
            "tools": part.tools,
            "started_at": turn.started_at / 1000,
            "deadline": FAR,
            "given": part.record,
        }
    )
    off = part.settings.get("provenance") == "off"
    return turn_inputs.strip_run_origins(run) if off else run


def _find_environments(turn: RecordedTurn, part: RecordedPart, agents: AgentsFile) -> Environments:
    """Return the variables of the prompt's definition, as agents.json has them now."""
    definition, chat = agents.find_agent(part.agent_id), turn.chat
    if definition is None or part.definition is None:
        return Environments()
    place = Address.for_unmet_chat(chat.channel, "", chat.chat_id)
    known = build_environments(definition, agents, place)
    return select_text_variables(PromptBundle.model_validate(part.definition), known)
