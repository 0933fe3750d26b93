"""Read the tool calls in the blocks of text in which each family of models writes them."""

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import orjson
from pydantic import JsonValue

from thinker.jsontext import parse_value_at, parse_values
from thinker.protocol.messages import OBJECT, JsonObject

MAX_CODE = 8192  # characters of calls in Python's form
NAME = r"[\w.:-]+"
# <invoke name="N">, <function=N>, <|open|>call tool="N" index="1"<|sep|>
INVOKED = re.compile(
    rf"<[^<>]{{0,24}}?\b(?:invoke|function|call)(?:=|\s+(?:name|tool)\s*=)\s*[\"']?({NAME})[\"']?"
    r"(?:\s+index=\"\d*\")?\s*>?"
)
# <parameter name="k">, <parameter=k>, <|open|>argument key="k" type="string"<|sep|>
PARAMETER = re.compile(
    r"\s*<[^<>]{0,24}?\b(?:parameter|argument)(?:=|\s+(?:name|key)\s*=)\s*[\"']?([^\"'<>\s]+)[\"']?"
    r"([^<>]{0,64})>\n?"
)
CALL_END = re.compile(r"</[^<>]{0,24}?(?:invoke|function|call)>")
NEXT_CALL = re.compile(rf"(?:\s*{CALL_END.pattern})*\s*{INVOKED.pattern}")
PARAMETER_END = re.compile(r"\n?</[^<>]{0,24}?(?:parameter|argument)>")
TYPED = re.compile(r"string=\"false\"|type=\"(?!string)")  # whose value is JSON
ARGUMENT_KEY = re.compile(r"<arg_key>\s*([^<]*?)\s*</arg_key>\s*<arg_value>")
CHANNEL = re.compile(rf"\bto=({NAME})")
SEPARATED = re.compile(
    rf"({NAME})\s*(?:\[CALL_ID\]\w*\s*)?"
    r"(?:<[|\uff5c]{1,2}tool[▁_ ](?:sep|call[▁_ ]argument[▁_ ]begin)[|\uff5c]{1,2}>|\[ARGS\])"
)
BRACED = re.compile(rf"call:\s*({NAME})\s*(?=\{{)|({NAME})\s*(?=\{{)")
QUOTES = re.compile(r"<\|\"\|>|<escape>")
BARE_KEY = re.compile(r"([{,]\s*)([\w-]+)(\s*:)")
BARE_VALUE = re.compile(r"(?<=:)\s*(?!true\b|false\b|null\b|-?\d|[\"\[{\s])([^,{}\[\]\"]+)")
CHILD = re.compile(r"<(/?)([\w.-]{1,64})>")
MARK = re.compile(
    r"\A(?:<(?![^<>]{0,24}\b(?:invoke|function|call)(?:=|\s))[^<>]{1,60}>\s*)*(?:\[TOOL_CALLS\])?\s*"
    r"(?:```(?:json)?)?|```\s*\Z"
)
# What templates put around a tool's name: a namespace, a number, a channel.
AROUND_NAME = re.compile(r"^(?:functions|default_api)[.:](?=.)|:\d+$|<\|.*$", re.DOTALL)
K3 = re.compile(r"<\|(open|close)\|>([^<]{0,200})<\|sep\|>")
MINIMAX = "]<]minimax[>["


class WrittenCall(NamedTuple):
    """A tool call as it was written; ``textual`` says that its values are text of any type."""

    name: str
    arguments: JsonObject
    textual: bool = False


def clean_tool_name(name: str) -> str:
    """Return the name of a tool as it was offered: ``functions.add:0`` becomes ``add``."""
    name = name.strip()
    return AROUND_NAME.sub("", name) or name


def read_calls(block: str) -> list[WrittenCall]:
    """Return the calls in a block, which begins with its opening mark; unreadable ones are lost."""
    block = block.replace(MINIMAX, "").strip()
    block = K3.sub(lambda found: f"<{'/' * (found[1] == 'close')}{found[2]}>", block)
    inner = block if INVOKED.match(block) else MARK.sub("", block).strip()
    for read, text in (
        (_read_channel, block),
        (_read_invoked, inner),
        (_read_json, inner),
        (_read_separated, inner),
        (_read_pairs, inner),
        (_read_braced, inner),
        (_read_code, inner),
    ):
        with suppress(ValueError, RecursionError, SyntaxError, MemoryError):
            if calls := list(read(text)):
                return calls
    return []


def _read_invoked(block: str) -> Iterator[WrittenCall]:
    """Read calls of named parameters; what stands within a value is no call."""
    position = 0
    while (named := NEXT_CALL.match(block, position)) is not None:
        arguments, position = _read_parameters(block, named.end())
        if arguments:
            yield WrittenCall(named[1], arguments, textual=True)
        elif block.startswith("{", position):
            yield WrittenCall(named[1], _read_object(block[position:]))
            return
        else:
            end = CALL_END.search(block, position)
            body = block[position : end.start() if end else len(block)]
            yield WrittenCall(named[1], _read_children(body), textual=True)
            position = end.start() if end else len(block)


def _read_parameters(block: str, position: int) -> tuple[JsonObject, int]:
    """Return the parameters from a position on, and where they end."""
    arguments: JsonObject = {}
    while (found := PARAMETER.match(block, position)) is not None:
        end = PARAMETER_END.search(block, found.end())
        value = block[found.end() : end.start() if end else len(block)]
        arguments[found[1]] = _read_value(value) if TYPED.search(found[2]) else value
        position = end.end() if end else len(block)
    while block[position : position + 1].isspace():
        position += 1
    return arguments, position


def _read_value(text: str) -> JsonValue:
    with suppress(ValueError):
        value: JsonValue = orjson.loads(text)
        return value
    return text


def _read_children(body: str) -> JsonObject:
    """Return the values of elements in elements: ``<a><b>1</b></a>`` is ``{"a": {"b": "1"}}``.

    An element that occurs again is a list. Without elements there are no arguments.
    """
    root: JsonObject = {}
    open_: list[tuple[str, JsonObject, str]] = [("", root, "")]
    _, *parts = CHILD.split(body)
    for slash, name, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if not slash:
            open_.append((name, {}, text))
        elif len(open_) > 1 and open_[-1][0] == name:
            _, inner, said = open_.pop()
            _add_child(open_[-1][1], name, inner or said)
    return root


def _add_child(parent: JsonObject, name: str, value: JsonValue) -> None:
    known = parent.get(name)
    if known is None:
        parent[name] = value
    elif isinstance(known, list):
        known.append(value)
    else:
        parent[name] = [known, value]


def _read_pairs(inner: str) -> Iterator[WrittenCall]:
    """Read GLM's form: the name, then keys and values between marks."""
    head, *parts = ARGUMENT_KEY.split(inner)
    if re.fullmatch(NAME, head.strip()):
        values = (value.partition("</arg_value>")[0] for value in parts[1::2])
        arguments: JsonObject = dict(zip(parts[::2], values, strict=True))
        yield WrittenCall(head.strip(), arguments, textual=True)


def _read_channel(block: str) -> Iterator[WrittenCall]:
    header, mark, body = block.partition("<|message|>")
    named = CHANNEL.search(header)
    if mark and named:
        yield WrittenCall(named[1], _read_object(body))


def _read_separated(inner: str) -> Iterator[WrittenCall]:
    """Read Kimi's, DeepSeek's and Mistral's form: the name, a mark, the arguments as JSON."""
    found = SEPARATED.match(inner)
    if found is None:
        return
    name, body = found[1], inner[found.end() :]
    if name == "function":  # DeepSeek V3: the type, then the name
        name, _, body = body.partition("\n")
    yield WrittenCall(name.strip(), _read_object(body))


def _read_json(inner: str) -> Iterator[WrittenCall]:
    if not inner.startswith(("{", "[")):
        return
    for value in parse_values(inner):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, dict) and (call := _read_json_call(one)) is not None:
                yield call


def _read_json_call(found: JsonObject) -> WrittenCall | None:
    inner = found.get("function")
    if isinstance(inner, dict):
        return _read_json_call(inner)
    names = (found.get(key) for key in ("name", "tool_name", "function", "tool"))
    name = next((one for one in names if isinstance(one, str)), "")
    keys = ("arguments", "parameters", "args", "input", "kwargs")
    arguments = next((found[key] for key in keys if found.get(key) is not None), {})
    if isinstance(arguments, str):
        arguments = _read_object(arguments) if arguments.strip() else {}
    return WrittenCall(name, arguments) if name and isinstance(arguments, dict) else None


def _read_braced(text: str) -> Iterator[WrittenCall]:
    """Read Gemma's ``call:NAME{key:<|"|>text<|"|>}``, and ``NAME{"key": "text"}``."""
    found = BRACED.match(text)
    if found is None:
        return
    pieces = QUOTES.split(text[found.end() :])
    for number, piece in enumerate(pieces):
        if number % 2:
            pieces[number] = json.dumps(piece)
        elif found[1]:
            quoted = BARE_VALUE.sub(lambda value: json.dumps(value[1].strip()), piece)
            pieces[number] = BARE_KEY.sub(r'\1"\2"\3', quoted)
    yield WrittenCall(found[1] or found[2], _read_object("".join(pieces)))


def _read_code(text: str) -> Iterator[WrittenCall]:
    """Read calls in Python's form: one, a list of them, or one on each line."""
    if len(text) > MAX_CODE:
        return
    for statement in ast.parse(text.strip()).body:
        if not isinstance(statement, ast.Expr):
            return
        value = statement.value
        for call in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "print" and call.args:
                call = call.args[0]  # noqa: PLW2901 - Gemini prints what a call returns
            if not isinstance(call, ast.Call) or call.args:
                return
            values = {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
            name = ast.unparse(call.func).removesuffix(".call")
            yield WrittenCall(name, OBJECT.validate_json(orjson.dumps(values)))


def _read_object(text: str) -> JsonObject:
    """Return the first JSON object of a text; raise ValueError if there is none."""
    start = text.find("{")
    if start < 0:
        raise ValueError("no object")
    return OBJECT.validate_json(orjson.dumps(parse_value_at(text, start)))
