"""draw_picture: pictures from a description, for agents with a model that draws."""

from base64 import b64encode
from typing import get_args

from orchestrator.errors import JournalError, OrchestratorError
from orchestrator.journal.turns import stored_files
from orchestrator.tools.builtin.host_tool import (
    MadeFiles,
    ToolContext,
    ToolFailure,
    plain_tool,
    read_number_argument,
    read_text_argument,
)
from thinker.formats.images import detect_image_type
from thinker.protocol.media_requests import MAX_DESCRIPTION_CHARACTERS, MAX_PICTURES, DrawingRequest
from thinker.protocol.messages import FileContent, JsonObject
from thinker.protocol.served_models import PictureShape

SECONDS = 150.0  # including the time of the worker's request
SHAPES = get_args(PictureShape)
NAMED = 40  # characters of the description in a picture's name


@plain_tool(
    "Draw pictures from a description. They become files of this chat; send_file shows one to the"
    " user.",
    {
        "prompt": "What to draw, in detail.",
        "shape": {"type": "string", "enum": [*SHAPES]},
        "count": {"type": "integer", "minimum": 1, "maximum": MAX_PICTURES},
    },
    ["prompt"],
    seconds=SECONDS,
    suits=lambda agent: agent.images is not None,
)
async def draw_picture(context: ToolContext, arguments: JsonObject) -> str:
    prompt, shape = (
        read_text_argument(arguments, "prompt"),
        read_text_argument(arguments, "shape", SHAPES[0]),
    )
    count = int(read_number_argument(arguments, "count", 1, 1, MAX_PICTURES))
    if not 0 < len(prompt) <= MAX_DESCRIPTION_CHARACTERS:
        raise ToolFailure(f"prompt must have 1 to {MAX_DESCRIPTION_CHARACTERS} characters")
    if shape not in SHAPES:
        raise ToolFailure(f"shape must be one of {', '.join(SHAPES)}")
    try:
        drawn = await context.draw(DrawingRequest(prompt=prompt, shape=shape, count=count))
    except JournalError:
        raise
    except OrchestratorError as error:
        raise ToolFailure(f"no picture was drawn: {error}") from error
    name = stored_files.clean_name(prompt.replace("/", " "))[:NAMED].strip(" .") or "picture"
    files = []
    for place, data in enumerate(drawn.drawn, 1):
        kind = detect_image_type(data[:16])
        if kind is None:
            raise ToolFailure("no picture was drawn: the server sent another kind of file")
        named = f"{name} {place}" if len(drawn.drawn) > 1 else name
        file = f"{named}{stored_files.find_ending(kind)}"
        files.append(FileContent(name=file, media_type=kind, data=b64encode(data).decode()))
    return MadeFiles("Drawn; send_file shows it to the user:", tuple(files))
