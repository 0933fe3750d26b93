"""Convert the results of MCP servers into text, images and files.

Where: is the result of an MCP tool truncated?
"""

from base64 import b64decode
from urllib.parse import unquote

import mcp_types as types
import orjson

from orchestrator.extensions.mcp_client.toolhost.wire import ToolAnswer
from thinker.formats.images import MAX_MEDIA, MAX_PICTURE, detect_image_type
from thinker.protocol.messages import FileContent, Image

MAX_RESULT = 1024 * 1024  # bytes of text


def build_tool_answer(result: types.CallToolResult) -> ToolAnswer:
    """Return a result's text, images and files, with notes in place of oversized parts.

    Structured content is used only when there is no text.
    """
    images, files, lines = [], [], []
    room = MAX_MEDIA
    for block in result.content:
        found = _extract_media(block)
        size = 0 if found is None else _count_bytes(found.data)
        if found is None or size > room:
            lines.append(_describe_block(block))
            continue
        room -= size
        if isinstance(found, Image):
            images.append(found)
        else:
            files.append(found)
    text = "\n".join(lines)
    if not text and result.structured_content is not None:
        text = orjson.dumps(result.structured_content, default=str).decode()
    return ToolAnswer(
        content=_truncate_text(text),
        is_error=result.is_error,
        images=tuple(images),
        files=tuple(files),
    )


def _extract_media(block: types.ContentBlock) -> Image | FileContent | None:
    """Return the picture or file in a block, or None."""
    if isinstance(block, types.ImageContent):
        size, kind = _count_bytes(block.data), detect_image_type(_decode_first_bytes(block.data))
        fits = kind is not None and size <= MAX_PICTURE
        return (
            Image(media_type=kind, data=block.data, about=f"{kind}, {size} bytes") if fits else None
        )
    if isinstance(block, types.AudioContent):
        ending = block.mime_type.rpartition("/")[2].removeprefix("x-")
        return _build_file_content(f"audio.{ending}", block.mime_type, block.data)
    resource = block.resource if isinstance(block, types.EmbeddedResource) else None
    if isinstance(resource, types.BlobResourceContents):
        name = unquote(str(resource.uri).rstrip("/").rpartition("/")[2])
        return _build_file_content(name, resource.mime_type or "", resource.blob)
    return None


def _build_file_content(name: str, kind: str, data: str) -> FileContent | None:
    """Return a file, if its data is base64."""
    try:
        b64decode(data, validate=True)
    except ValueError:
        return None
    return FileContent(name=name, media_type=kind, data=data)


def _decode_first_bytes(data: str) -> bytes:
    """Return the bytes that identify a format; empty if the text is not base64."""
    try:
        return b64decode(data, validate=True)[:16]
    except ValueError:
        return b""


def _describe_block(block: types.ContentBlock) -> str:
    """Return the text of a block, or a note for the model in its place."""
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.ImageContent | types.AudioContent):
        return f"[{block.type}: {block.mime_type}, {_count_bytes(block.data)} bytes]"
    if not isinstance(block, types.EmbeddedResource):
        return f"[resource: {block.uri}]"
    if isinstance(block.resource, types.TextResourceContents):
        return block.resource.text
    return f"[resource: {block.resource.uri}, {_count_bytes(block.resource.blob)} bytes]"


def _count_bytes(data: str) -> int:
    """Return the number of bytes that base64 text encodes."""
    return len(data.rstrip("=")) * 3 // 4


def _truncate_text(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_RESULT:
        return data.decode()
    kept = data[:MAX_RESULT].decode("utf-8", "ignore")
    return f"{kept}\n[cut: the result has {len(data)} bytes, {MAX_RESULT} are kept]"
