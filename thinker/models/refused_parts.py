"""Find what a provider refuses in a request by its words: a tool's schema or the history."""

import re
from http import HTTPStatus
from typing import Literal

RefusedPart = Literal["schema", "history"]
READ = frozenset({400, 422})  # statuses of requests that were read
# In this order: OpenAI and Groq, numbers of tools (all), Anthropic and Bedrock, Moonshot, Gemini,
# llama.cpp, and what all say. Its words about grammars may be about the schema of an answer.
SCHEMA = re.compile(
    r"invalid (json )?schema for (function|tool)|invalid_function_parameters"
    r"|\btools?(\[|\.)\d+\]?\.(function|custom|input_?schema|parameters|strict|toolspec)"
    r"|\btools['\"], ?\d|input_?schema|toolspec|tools?\.function\.parameters|moonshot flavored"
    r"|function_?declarations"
    r"|unknown name .{0,3}(\$ref|\$defs|\$schema|additionalproperties|const|oneof|allof|anyof)\b"
    r"|(failed to|cannot|error) (parse|parsing|compil\w+|build\w*|generat\w+)"
    r" .{0,20}schema"
    r"|tools['\": ]*.{0,20}(array too long|too many|at most|maximum)"
    r"|json schema conversion|unrecognized schema|parse_?error.{0,20}schema"
    r"|(tool|function)[^.]{0,80}(schema|parameters)[^.]{0,80}"
    r"(invalid|not (be )?(valid|support|allowed)|unsupported|must|required)"
    r"|(invalid|unsupported)[^.]{0,40}(schema|parameters)[^.]{0,40}(tool|function)",
    re.IGNORECASE,
)
# What refers to earlier messages without doubt, in the words of many providers.
HISTORY = re.compile(
    r"reasoning_content|thought_?signature|reasoning_details|encrypted_content|redacted_thinking"
    r"|\bmessages?(\[|\.|: ?\[?|['\"], ?)\d|message at index|last role"
    r"|must end with|must start with|first message|last message|prefill|tool_use.{0,30}tool_result"
    r"|tool_call_ids?\b|tool_calls?.{0,40}(must be followed|response)|orphan|unexpected role"
    r"|jinja2?[ .:]*(exception|error|template)"
    r"|after role|content blocks? must be non-?empty|text is not set|non-empty content"
    r"|following item|alternat(e|ing)\b|function (call|response) (turn|part)"
    r"|toolconfig field must"
    r"|expects the .{0,3}tools|expected a string|content.{0,40}(null|none|required|missing)"
    r"|signature in|invalid.{0,10}signature|extra_content|cache_control",
    re.IGNORECASE,
)
SUSPECTED = re.compile(
    r"\b(messages?|roles?|assistant|conversation|history|thinking|tool_use|tool_result|signature)\b",
    re.IGNORECASE,
)
TEMPLATE = re.compile(r"jinja2?[ .:]*(exception|error)|roles must alternate", re.IGNORECASE)


def find_refused_part(status: int, words: str) -> RefusedPart | None:
    """Return what a refusal is about without doubt; None if it may be about something else."""
    if status not in READ and not (
        status >= HTTPStatus.INTERNAL_SERVER_ERROR and TEMPLATE.search(words)
    ):
        return None
    if HISTORY.search(words):
        return "history"
    return "schema" if SCHEMA.search(words) else None


def may_be_history(status: int, words: str) -> bool:
    """Return whether a refusal that nothing else explains speaks of earlier messages."""
    return status in READ and SUSPECTED.search(words) is not None
