"""Convert the results of MCP servers into text and images for the model."""

from base64 import b64decode
from collections.abc import Container, Iterable

import mcp_types as types
import orjson

from orchestrator.toolhost.wire import ToolAnswer
from thinker.formats.images import MAX_PICTURE, media_type
from thinker.protocol.messages import Image

MAX_PICTURES = 7_800_000  # bytes of all images; they must fit a frame of 16 MiB
MAX_RESULT = 1024 * 1024  # bytes of text


def tool_answer(result: types.CallToolResult) -> ToolAnswer:
    """Return a result's text and images, with notes in place of other content.

    Structured content is used only when there is no text.
    """
    images = tuple(_images(result.content))
    shown = {image.data for image in images}
    text = "\n".join(_parts(result.content, shown))
    if not text and result.structured_content is not None:
        text = orjson.dumps(result.structured_content, default=str).decode()
    return ToolAnswer(content=_truncate(text), is_error=result.is_error, images=images)


def _images(blocks: Iterable[types.ContentBlock]) -> Iterable[Image]:
    """Yield images of a known format, as long as they fit the limits together."""
    room = MAX_PICTURES
    for block in blocks:
        if isinstance(block, types.ImageContent):
            size = _size(block.data)
            kind = media_type(_first_bytes(block.data))
            if kind is not None and size <= min(room, MAX_PICTURE):
                room -= size
                yield Image(media_type=kind, data=block.data, about=f"{kind}, {size} bytes")


def _first_bytes(data: str) -> bytes:
    """Return the bytes that identify a format; none if the text is not base64."""
    try:
        return b64decode(data, validate=True)[:16]
    except ValueError:
        return b""


def _parts(blocks: Iterable[types.ContentBlock], shown: Container[str]) -> Iterable[str]:
    for block in blocks:
        if isinstance(block, types.TextContent):
            yield block.text
        elif isinstance(block, types.ImageContent | types.AudioContent):
            if block.type == "audio" or block.data not in shown:
                yield f"[{block.type}: {block.mime_type}, {_size(block.data)} bytes]"
        elif not isinstance(block, types.EmbeddedResource):
            yield f"[resource: {block.uri}]"
        elif isinstance(block.resource, types.TextResourceContents):
            yield block.resource.text
        else:
            yield f"[resource: {block.resource.uri}, {_size(block.resource.blob)} bytes]"


def _size(data: str) -> int:
    """Return the number of bytes that base64 text encodes."""
    return len(data.rstrip("=")) * 3 // 4


def _truncate(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_RESULT:
        return data.decode()
    kept = data[:MAX_RESULT].decode("utf-8", "ignore")
    return f"{kept}\n[cut: the result has {len(data)} bytes, {MAX_RESULT} are kept]"
