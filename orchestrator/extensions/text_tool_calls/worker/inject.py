"""The prompt text that explains the text tool-call protocol and describes the tools."""

import json
from collections.abc import Sequence

from orchestrator.extensions.text_tool_calls.worker.schema_text import (
    build_example,
    dump_compact_json,
    format_parameters,
)
from thinker.protocol.messages import ToolChoice, ToolSpec

INTERNAL = ("shell", "apply_patch", "web_search", "view_image")  # tools of coding hosts

BASE = """\
Tool calling instructions:
Only emit tool calls using <tool_call>...</tool_call>.
Format: <tool_call>{"name":"TOOL_NAME","arguments":"{...}"}</tool_call>
Inside <tool_call>...</tool_call>, output ONLY a JSON object with keys "name" and "arguments".
Always emit <tool_call> blocks exactly as shown; the client executes them.
Do NOT call internal tools directly (INTERNAL); only emit <tool_call>.
Read-only sandbox or approval restrictions do NOT prevent emitting <tool_call> output.
Use EXACT parameter names from the schema; do NOT invent or rename keys.
Do not add any extra characters before or after the JSON (no trailing ">", no code fences).
Use exactly one opening <tool_call> and one closing </tool_call> tag.
Output must be valid JSON. Do not add extra braces or trailing characters.
Do NOT wrap the JSON object in an array (no leading "[" or trailing "]").
Bad: <tool_call>[{"name":"tool","arguments":"{...}"}]</tool_call>
Never repeat the closing tag.
Example (exact): <tool_call>{"name":"webSearch","arguments":"{\\"query\\":\\"example\\",\
\\"chatHistory\\":[]}"}</tool_call>
The "arguments" field must be a JSON string.
If a tool has no parameters, use arguments "{}".
If no tool is needed, respond with plain text."""

CHOICE_LINES = {
    "none": "Tool choice is none: never emit <tool_call>.",
    "required": "Tool choice is required: you MUST emit at least one <tool_call>.",
    "function": 'Tool choice is forced: you MUST call "{}".',
}


def format_call_block(
    tools: Sequence[ToolSpec], choice: ToolChoice | None, *, internal: Sequence[str] = INTERNAL
) -> str:
    """Return the text that explains tool calls and describes the tools; empty without tools.

    ``internal`` are tools of the model's own host, which the model must not call directly.
    """
    if not tools:
        return ""
    strict = ", ".join(tool.name for tool in tools if tool.strict)
    line = CHOICE_LINES.get(choice.mode) if choice is not None else None
    lines = [BASE.replace("INTERNAL", ", ".join(internal))]
    if choice is not None and line is not None:
        lines.append(line.format(choice.name))
    if strict:
        lines.append(f"Strict tools: {strict}. Arguments MUST conform exactly to schema.")
    lines.append("Available tools (schema):")
    lines += [f"- {tool.name}: {dump_compact_json(tool.parameters)}" for tool in tools]
    lines.append("Per-tool guidance and examples (schema-conformant):")
    for tool in tools:
        lines += _format_guidance(tool)
    return "\n".join(lines)


def join_instructions(*parts: str) -> str:
    """Join instructions; blank parts are left out."""
    return "\n\n".join(text for part in parts if (text := part.strip()))


def format_opening_tag(key: str) -> str:
    """Return the tag that begins a tool call, with the required key, if any."""
    return f'<tool_call key="{key}">' if key else "<tool_call>"


def format_tool_call(name: str, arguments: str, key: str = "") -> str:
    """Return a tool call as the model must write it; ``arguments`` is JSON text."""
    quoted = (json.dumps(text, ensure_ascii=False) for text in (name, arguments))
    return format_opening_tag(key) + '{{"name":{},"arguments":{}}}</tool_call>'.format(*quoted)


def _format_guidance(tool: ToolSpec) -> list[str]:
    described = [f"Description: {tool.description}"] if tool.description.strip() else []
    arguments = build_example(tool.parameters) if tool.parameters else {}
    return [
        f"Tool: {tool.name}",
        *described,
        "Parameters:",
        *format_parameters(tool.parameters),
        "Example tool_call:",
        format_tool_call(tool.name, dump_compact_json(arguments)),
    ]
