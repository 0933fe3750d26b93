"""From what an MCP server sends to what the model reads."""

from collections.abc import Iterable

import orjson
from mcp_types import (
    AudioContent,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

from orchestrator.toolhost.wire import ToolAnswer

MAX_RESULT = 1024 * 1024  # bytes of a result that are kept


def answer(result: CallToolResult) -> ToolAnswer:
    """Text as it is, everything else as a note; structured content when there is no text."""
    text = "\n".join(_parts(result.content))
    if not text and result.structured_content is not None:
        text = orjson.dumps(result.structured_content, default=str).decode()
    return ToolAnswer(content=_cut(text), is_error=result.is_error)


def _parts(blocks: Iterable[ContentBlock]) -> Iterable[str]:
    for block in blocks:
        if isinstance(block, TextContent):
            yield block.text
        elif isinstance(block, ImageContent | AudioContent):
            yield f"[{block.type}: {block.mime_type}, {_size(block.data)} bytes]"
        elif not isinstance(block, EmbeddedResource):
            yield f"[resource: {block.uri}]"
        elif isinstance(block.resource, TextResourceContents):
            yield block.resource.text
        else:
            yield f"[resource: {block.resource.uri}, {_size(block.resource.blob)} bytes]"


def _size(data: str) -> int:
    """How many bytes base64 text stands for."""
    return len(data.rstrip("=")) * 3 // 4


def _cut(text: str) -> str:
    data = text.encode("utf-8", "replace")
    if len(data) <= MAX_RESULT:
        return data.decode()
    kept = data[:MAX_RESULT].decode("utf-8", "ignore")
    return f"{kept}\n[cut: the result has {len(data)} bytes, {MAX_RESULT} are kept]"
