"""Read the payload of a tool-call block: parse, repair, check against the request's rules."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import orjson
from pydantic import JsonValue

from orchestrator.extensions.text_tool_calls.worker.schema_text import dump_compact_json
from thinker.protocol.messages import JsonObject, ToolChoice, ToolSpec
from thinker.toolcalls.arguments import list_required_fields
from thinker.toolcalls.schema_validation import check_against_schema

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\\?\Z)'
TRAILING_COMMA = re.compile(rf"({STRING})|,\s*+(?=[}}\]])", re.DOTALL)

ProblemKind = Literal[
    "invalid_json",
    "missing_name",
    "unknown_tool",
    "arguments_coerced",
    "schema_mismatch",
    "unclosed_tag",
    "unclosed_tag_recovered",
]


@dataclass(frozen=True)
class ParserRules:
    """The rules of a request; an empty ``allowed`` allows every name.

    A block of a strict tool that breaks a rule is dropped instead of shown as text.
    ``strict_default`` applies to names missing in ``strict``, and to blocks without a name.
    Without ``repair`` a payload must be valid JSON; with ``plain`` arguments may be an object, and
    a list of one call is that call.
    """

    allowed: Collection[str] = ()
    strict: Mapping[str, bool] = field(default_factory=dict)
    strict_default: bool = False
    schemas: Mapping[str, JsonObject] = field(default_factory=dict)
    repair: bool = True
    plain: bool = False

    def is_strict(self, name: str) -> bool:
        return self.strict.get(name, self.strict_default)


def build_parser_rules(
    tools: Sequence[ToolSpec], choice: ToolChoice | None, *, plain: bool = False
) -> ParserRules:
    """Return the rules of a request with these tools; a forced tool is the only one allowed."""
    forced = choice.name if choice is not None else ""
    return ParserRules(
        allowed=(forced,) if forced else tuple(tool.name for tool in tools),
        strict={tool.name: tool.strict for tool in tools},
        schemas={tool.name: tool.parameters for tool in tools},
        plain=plain,
    )


class PayloadProblem(NamedTuple):
    """A problem of a payload; ``strict`` is None where strictness does not matter."""

    kind: ProblemKind
    message: str
    strict: bool | None = False


class Payload(NamedTuple):
    """The content of a block. ``arguments`` is JSON text as the model wrote it.

    ``runs`` says whether the payload is a call, ``repaired`` whether its JSON was repaired.
    """

    name: str = ""
    arguments: str = ""
    runs: bool = False
    repaired: bool = False
    problem: PayloadProblem | None = None


def read_payload(raw: str, limits: ParserRules) -> Payload:
    """Read the text between the tags; problems are part of the result."""
    value, repaired = _parse_with_repairs(raw.strip(), repair=limits.repair)
    if limits.plain and isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict | list):
        strict = limits.strict_default
        return Payload(problem=PayloadProblem("invalid_json", "invalid tool_call payload", strict))
    fields = value if isinstance(value, dict) else {}
    name = fields.get("name")
    name = name.strip() if isinstance(name, str) else ""
    strict = limits.is_strict(name)
    if not name:
        return Payload(problem=PayloadProblem("missing_name", "tool_call name is required", strict))
    # Some models are trained to write "parameters".
    arguments = fields.get("arguments", fields.get("parameters", {}))
    written = arguments if isinstance(arguments, str) else None
    # The format requires a string, so null becomes an empty string.
    text = dump_compact_json("" if arguments is None else arguments) if written is None else written
    as_asked = "arguments" in fields and (written is not None or limits.plain)
    problem = _find_broken_rule(name, text if as_asked else None, limits)
    runs = problem is None or (problem.kind == "arguments_coerced" and not strict)
    return Payload(name, text, runs=runs, repaired=repaired, problem=problem)


def _find_broken_rule(
    name: str, arguments: str | None, limits: ParserRules
) -> PayloadProblem | None:
    """Return the rule that a call breaks; ``arguments`` is None if not written as text."""
    strict = limits.is_strict(name)
    if limits.allowed and name not in limits.allowed:
        return PayloadProblem("unknown_tool", f"unknown tool: {name}", strict)
    if arguments is None:
        return PayloadProblem("arguments_coerced", "arguments coerced to string", strict)
    mismatch = _find_mismatch(arguments, limits.schemas.get(name, {})) if strict else None
    return None if mismatch is None else PayloadProblem("schema_mismatch", mismatch, strict)


def _parse_with_repairs(text: str, *, repair: bool) -> tuple[JsonValue, bool]:
    """Return the value of JSON text, and whether repairs were needed."""
    for attempt, candidate in enumerate(_iter_candidates(text) if repair else (text,)):
        try:
            value: JsonValue = orjson.loads(candidate)
        except ValueError:
            continue
        return value, attempt > 0
    return None, False


def _iter_candidates(text: str) -> Iterator[str]:
    """Yield the text as it is, then with one known mistake after the other removed."""
    yield text
    text = TRAILING_COMMA.sub(lambda match: match[1] or "", text)
    yield text
    if text.endswith(">"):
        text = text[:-1].rstrip()
        yield text
    if text.endswith("}}"):
        text = text[:-1]
        yield text
    if text.startswith("{") and text.endswith("]"):
        yield text[:-1]


def _find_mismatch(text: str, schema: JsonObject) -> str | None:
    """Return the reason why arguments do not match the schema of a strict tool, or None."""
    try:
        arguments = orjson.loads(text)
    except ValueError:
        return "arguments are not JSON"
    if not isinstance(arguments, dict):
        return "arguments must be an object"
    names = [name for name in list_required_fields(schema) if isinstance(name, str)]
    missing = [name for name in names if name not in arguments]
    if missing:
        return f"missing required keys: {', '.join(missing)}"
    return check_against_schema(arguments, schema)
