"""Apply a prompt definition to a turn: base prompt, tools, history and answer contract."""

from thinker import history
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.base_prompt import BasePrompt, TurnPrompt
from thinker.prompt.render.attach import offered_tools
from thinker.prompt.render.layouts import body_text
from thinker.prompt.render.output_contract import answer_contract
from thinker.prompt.render.pipeline import render
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
    rendered = render(bundle, turn.environments, tools)
    changed = turn.model_copy(
        update={
            "tools": (*offered_tools(definition, tools), *(t for t in turn.tools if t.handed_back)),
            "history": _past(turn, definition),
            "summary": turn.summary if definition.include_chat else None,
            "tool_choice": _choice(turn, definition),
        }
    )
    base = BasePrompt(rendered.text, "definition")
    return TurnPrompt(
        changed,
        base,
        definition.parallel_tool_calls,
        definition.recent_image_threshold,
        answer_contract(rendered.sections),
        _reasoning(definition),
        definition.hooks,
    )


def render_alone(request: PromptRender) -> PromptRendered:
    """Render a definition without a turn, in the requested layout."""
    try:
        bundle = PromptBundle.model_validate(request.prompt)
        rendered = render(bundle, request.environments, request.tools, request.layout)
    except DefinitionError as error:
        return PromptRendered(problem=str(error))
    return PromptRendered(
        text=rendered.text,
        fingerprint=rendered.fingerprint,
        sections=tuple(
            SectionRecord(id=section.id, source=section.source, text=body_text(section.body))
            for section in rendered.sections
        ),
    )


def _choice(turn: TurnRun, definition: PromptDefinition) -> ToolChoice:
    """Return the turn's tool choice, or the definition's if the turn has none."""
    if turn.tool_choice != AUTO:
        return turn.tool_choice
    return ToolChoice(mode=definition.tool_choice)


def _reasoning(definition: PromptDefinition) -> Reasoning | None:
    settings = definition.reasoning
    return None if settings is None else Reasoning.model_validate(settings.model_dump())


def _past(turn: TurnRun, definition: PromptDefinition) -> tuple[Message, ...]:
    """Return the history that the definition includes; ``include_chat`` applies to chats only.

    API requests bring their own history, and a subagent keeps its earlier work.
    """
    if turn.recipe == "request":
        return turn.history
    if not definition.include_chat and turn.recipe != "subagent":
        return ()
    return turn.history if definition.include_past_tools else history.without_tools(turn.history)
