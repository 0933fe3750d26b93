"""What a prompt definition makes of a turn: base prompt, tools, what it sees of the past."""

from thinker import history
from thinker.formats.prompts.bundle import PromptBundle
from thinker.formats.prompts.definition import PromptDefinition
from thinker.formats.prompts.problem import DefinitionError
from thinker.prompt.base_prompt import Applied, BasePrompt
from thinker.prompt.render.attach import offered
from thinker.prompt.render.layouts import written
from thinker.prompt.render.output_contract import answer_contract
from thinker.prompt.render.pipeline import render
from thinker.protocol.messages import AUTO, Message, Reasoning, ToolChoice
from thinker.protocol.methods import TurnRun
from thinker.protocol.rendering import PromptRender, PromptRendered, SectionRecord


def applied(turn: TurnRun) -> Applied:
    """The turn with the base prompt, the tools and the history of its definition.

    Raises:
        DefinitionError: the definition cannot be used.
    """
    bundle = PromptBundle.model_validate(turn.prompt)
    definition = bundle.root
    own = tuple(tool for tool in turn.tools if not tool.handed_back)
    rendered = render(bundle, turn.environments, own)
    changed = turn.model_copy(
        update={
            "tools": (*offered(definition, own), *(t for t in turn.tools if t.handed_back)),
            "history": _past(turn, definition),
            "summary": turn.summary if definition.include_chat else None,
            "tool_choice": _choice(turn, definition),
        }
    )
    base = BasePrompt(rendered.text, "definition")
    return Applied(
        changed,
        base,
        definition.parallel_tool_calls,
        definition.recent_image_threshold,
        answer_contract(rendered.sections),
        _reasoning(definition),
        definition.hooks,
    )


def shown(request: PromptRender) -> PromptRendered:
    """A definition by itself, in a layout of the asker's choice."""
    try:
        bundle = PromptBundle.model_validate(request.prompt)
        rendered = render(bundle, request.environments, request.tools, request.layout)
    except DefinitionError as error:
        return PromptRendered(problem=str(error))
    return PromptRendered(
        text=rendered.text,
        fingerprint=rendered.fingerprint,
        sections=tuple(
            SectionRecord(id=section.id, source=section.source, text=written(section.body))
            for section in rendered.sections
        ),
    )


def _choice(turn: TurnRun, definition: PromptDefinition) -> ToolChoice:
    """What the turn asks for, when that is anything; else what the definition does."""
    if turn.tool_choice != AUTO:
        return turn.tool_choice
    return ToolChoice(mode=definition.tool_choice)


def _reasoning(definition: PromptDefinition) -> Reasoning | None:
    wanted = definition.reasoning
    return None if wanted is None else Reasoning.model_validate(wanted.model_dump())


def _past(turn: TurnRun, definition: PromptDefinition) -> tuple[Message, ...]:
    """The history that the definition includes; a program's is what it sent.

    What a subagent did before is no chat.
    """
    if turn.recipe == "request":
        return turn.history
    if not definition.include_chat and turn.recipe != "subagent":
        return ()
    return turn.history if definition.include_past_tools else history.without_tools(turn.history)
