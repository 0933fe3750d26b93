"""draw_picture: what the model is asked for, and what becomes of its pictures."""

from base64 import b64decode
from dataclasses import replace

import pytest
from pydantic import JsonValue

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import MediaError
from orchestrator.extensions.media.picture_tools import draw_picture
from orchestrator.tools.builtin.host_tool import MadeFiles, ToolContext, ToolFailure
from orchestrator.tools.host_tools import list_offered_host_tools, list_own_tools
from thinker.protocol.media_requests import (
    MAX_DESCRIPTION_CHARACTERS,
    DrawingRequest,
    DrawingResult,
)
from thinker.protocol.messages import Usage

PNG = b"\x89PNG\r\n\x1a\n"
BRUSH = {"model": "brush", "provider": "openai"}


async def drawn(context: ToolContext, *pictures: bytes, **arguments: JsonValue) -> str:
    """The result of a call for which a model draws these."""

    async def draw(request: DrawingRequest) -> DrawingResult:
        asked.append(request)
        return DrawingResult(model="openai/brush", usage=Usage(), drawn=pictures)

    asked: list[DrawingRequest] = []
    result = await draw_picture.run(replace(context, draw=draw), arguments)
    assert asked == [DrawingRequest.model_validate(arguments)]
    return result


async def test_pictures_become_files_named_after_what_they_show(context: ToolContext) -> None:
    """A longer description is cut; several are numbered."""
    arguments: dict[str, JsonValue] = {
        "prompt": "A fox / in [deep] snow, by night, under many stars",
        "shape": "wide",
        "count": 2,
    }
    result = await drawn(context, PNG + b"1", PNG + b"2", **arguments)
    assert isinstance(result, MadeFiles)
    assert "send_file" in result
    assert [(file.name, b64decode(file.data)) for file in result.files] == [
        ("A fox in deep snow, by night, under many 1.png", PNG + b"1"),
        ("A fox in deep snow, by night, under many 2.png", PNG + b"2"),
    ]


async def test_single_picture_has_no_number(context: ToolContext) -> None:
    """A name is found for every description."""
    result = await drawn(context, PNG, prompt="...")
    assert isinstance(result, MadeFiles)
    assert [file.name for file in result.files] == ["picture.png"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"prompt": ""}, "prompt must have"),
        ({"prompt": "x" * (MAX_DESCRIPTION_CHARACTERS + 1)}, "prompt must have"),
        ({"prompt": "a cat", "count": 5}, "count must be a number from 1 to 4"),
        ({"prompt": "a cat", "shape": "round"}, "shape must be one of square, wide, tall"),
    ],
)
async def test_wrong_argument_is_told_before_a_model_is_asked(
    context: ToolContext, arguments: dict[str, JsonValue], problem: str
) -> None:
    """Number and size are bounded."""
    with pytest.raises(ToolFailure, match=problem):
        await draw_picture.run(context, arguments)


async def test_failure_of_the_model_is_told(context: ToolContext) -> None:
    """As is an answer that holds no pictures."""
    with pytest.raises(ToolFailure, match="no picture was drawn: the agent does not draw"):
        await draw_picture.run(context, {"prompt": "a cat"})
    with pytest.raises(ToolFailure, match="another kind of file"):
        await drawn(context, b"<svg>", prompt="a cat")
    with pytest.raises(MediaError):
        await context.draw(DrawingRequest(prompt="a cat"))


def test_only_agents_that_draw_are_offered_it() -> None:
    """They can always send what they have drawn; others look for send_file when they need it."""

    def offered(**fields: object) -> dict[str, tuple[str, ...]]:
        given = {"agent_id": "work", "llm_provider": "demo", **fields}
        agent = AgentDefinition.model_validate(given)
        tools = list_offered_host_tools(list_own_tools(), agent)
        return {tool.name: tool.keywords for tool in tools}

    plain, drawing = offered(), offered(images=BRUSH)
    assert "draw_picture" not in plain
    assert plain["send_file"]
    assert (drawing["draw_picture"], drawing["send_file"]) == ((), ())
    assert "draw_picture" not in offered(images=BRUSH, deniedTools=["draw_*"])
