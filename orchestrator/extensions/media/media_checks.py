"""Find models that an agent cannot use because the tool is denied."""

from orchestrator.agentsfile.draft import Draft
from orchestrator.extensions.media.picture_tools import draw_picture
from orchestrator.tools.policy import is_tool_allowed

DRAW = draw_picture.spec.name


def check_unused_models(draft: Draft) -> None:
    """Warn about each agent that has a drawing model but may not use its tool."""
    for number, agent in draft.agents.items():
        if agent.images is None or is_tool_allowed(DRAW, agent.allowed_tools, agent.denied_tools):
            continue
        field = "allowedTools" if is_tool_allowed(DRAW, (), agent.denied_tools) else "deniedTools"
        text = (
            f'agent \'{agent.agent_id}\' has "images", but its "{field}" keeps {DRAW} from it, so'
            ' it draws nothing; allow this tool or remove "images"'
        )
        draft.add_warning(("agents", number, field), text, agent.agent_id)
