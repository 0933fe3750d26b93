"""Apply a prompt definition to a turn: base prompt, tools, history and answer contract."""

from collections.abc import Mapping
from typing import Any

from thinker import history
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.base_prompt import BasePrompt, TurnPrompt
from thinker.prompt.render.attach import list_offered_tools
from thinker.prompt.render.layouts import Layout, format_body
from thinker.prompt.render.output_contract import build_answer_contract
from thinker.prompt.render.pipeline import LAYOUTS, render_definition
from thinker.protocol.messages import AUTO, Message, Reasoning, ToolChoice
from thinker.protocol.methods import TurnRun
from thinker.protocol.rendering import PromptRender, PromptRendered, SectionRecord


def apply_definition(turn: TurnRun) -> TurnPrompt:
    """Return the turn with the base prompt, tools and history of its definition.

    Raises:
        DefinitionError: The definition cannot be used.
    """
    bundle = PromptBundle.model_validate(turn.prompt)
    definition = bundle.root
    tools = tuple(tool for tool in turn.tools if not tool.handed_back)
    rendered = render_definition(bundle, turn.environments, tools)
    own_choice, settings = ToolChoice(mode=definition.tool_choice), definition.reasoning
    changes: dict[str, Any] = {
        "tools": (
            *list_offered_tools(definition, tools),
            *(t for t in turn.tools if t.handed_back),
        ),
        "history": _select_history(turn, definition),
        "summary": turn.summary if definition.include_chat else None,
        "tool_choice": own_choice if turn.tool_choice == AUTO else turn.tool_choice,
    }
    return TurnPrompt(
        turn.model_copy(update=changes),
        BasePrompt(rendered.text, "definition"),
        definition.parallel_tool_calls,
        definition.recent_image_threshold,
        build_answer_contract(rendered.sections),
        None if settings is None else Reasoning.model_validate(settings.model_dump()),
        definition.hooks,
    )


def render_alone(request: PromptRender, layouts: Mapping[str, Layout] = LAYOUTS) -> PromptRendered:
    """Render a definition without a turn, in the requested layout."""
    write = layouts.get(request.layout)
    if write is None:
        problem = f"unknown layout {request.layout!r}; use one of: {', '.join(layouts)}"
        return PromptRendered(problem=problem)
    try:
        bundle = PromptBundle.model_validate(request.prompt)
        rendered = render_definition(bundle, request.environments, request.tools, write)
    except DefinitionError as error:
        return PromptRendered(problem=str(error))
    return PromptRendered(
        text=rendered.text,
        fingerprint=rendered.fingerprint,
        sections=tuple(
            SectionRecord(id=section.id, source=section.source, text=format_body(section.body))
            for section in rendered.sections
        ),
    )


def _select_history(turn: TurnRun, definition: PromptDefinition) -> tuple[Message, ...]:
    """Return the history that the definition includes; ``include_chat`` applies to chats only.

    API requests bring their own history, and a subagent keeps its earlier work.
    """
    if turn.recipe == "request":
        return turn.history
    if not definition.include_chat and turn.recipe != "subagent":
        return ()
    return (
        turn.history
        if definition.include_past_tools
        else history.remove_tool_messages(turn.history)
    )
