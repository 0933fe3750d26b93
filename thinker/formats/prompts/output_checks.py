"""Find the parts of a file's ``output`` that cannot be the schema of an answer.

A file has no Python types, so text in place of a schema says nothing about the values: ``[str,
"words"]`` would be a list of anything. Text as the value of a field is a description, and the field
accepts any value.
"""

from collections.abc import Iterator, Mapping

from pydantic import JsonValue

from thinker.formats.prompts.grammar import MARKS, OutputSchemaError, parse_type
from thinker.formats.prompts.problem import DefinitionProblem

Path = tuple[str | int, ...]
RULE = "output_schema"
OUTPUT: Path = ("prompt", "slots", "output")
FIELD = '{$type: str, $desc: "words"}'


def check_output_schema(prompt: JsonValue) -> tuple[DefinitionProblem, ...]:
    """Return the problems of the output of a prompt, as a file defines it."""
    slots = prompt.get("slots") if isinstance(prompt, dict) else None
    if not isinstance(slots, dict):
        return ()
    output, form = slots.get("output"), slots.get("output_format")
    found = _check_schema(OUTPUT, output) if isinstance(output, dict | list) else iter(())
    if form == "json" and not isinstance(output, dict | list):
        message = f"an answer in JSON needs fields; write them as name: {FIELD}"
        found = iter(((OUTPUT if "output" in slots else (*OUTPUT[:2], "output_format"), message),))
    return tuple(DefinitionProblem(path, RULE, message) for path, message in found)


def _check_schema(path: Path, schema: JsonValue) -> Iterator[tuple[Path, str]]:
    if isinstance(schema, dict):
        yield from _check_mapping(path, schema)
    elif isinstance(schema, list):
        yield from _check_list(path, schema)
    elif isinstance(schema, str):
        if _is_type(schema):
            yield path, f"{schema!r} is a description there; write {{$type: {_quote_yaml(schema)}}}"
    else:
        yield path, f"{_format_value(schema)} is not a schema; write {FIELD}"


def _check_mapping(path: Path, schema: Mapping[str, JsonValue]) -> Iterator[tuple[Path, str]]:
    marks = [key for key in schema if key.startswith("$")]
    if not marks:
        for key, value in schema.items():
            yield from _check_schema((*path, key), value)
    elif "$type" not in schema or schema.keys() - MARKS:
        wrong = next((key for key in schema if key not in MARKS), "")
        problem = f"has {wrong!r} besides $type" if "$type" in schema else "has no $type"
        yield path, f"{problem}; write only $type, $desc and $default, such as {FIELD}"
    elif isinstance(kind := schema["$type"], str):
        try:
            parse_type(kind)
        except OutputSchemaError as error:
            yield (*path, "$type"), str(error)
    else:
        yield from _check_schema((*path, "$type"), kind)


def _check_list(path: Path, schema: list[JsonValue]) -> Iterator[tuple[Path, str]]:
    texts = [item for item in schema if not isinstance(item, dict | list)]
    if texts:
        first = schema[0] if isinstance(schema[0], str) and _is_type(schema[0]) else "str"
        words = next((item for item in schema[1:] if isinstance(item, str)), "words")
        one, several = _quote_yaml(first), _quote_yaml(f"list[{first}]")
        yield (
            path,
            (
                f"a list with {_format_value(texts[0])} in it is not a schema; write "
                f'{{$type: {one}, $desc: "{words}"}} for one value, or '
                f'{{$type: {several}, $desc: "{words}"}} for a list'
            ),
        )
        return
    for number, item in enumerate(schema):
        yield from _check_schema((*path, number), item)


def _is_type(text: str) -> bool:
    try:
        parse_type(text)
    except OutputSchemaError:
        return False
    return True


def _quote_yaml(kind: str) -> str:
    """Return a type as YAML; within braces, brackets and commas need quotes."""
    return kind if kind.isidentifier() else f'"{kind}"'


def _format_value(value: JsonValue) -> str:
    return "nothing" if value is None else repr(value)[:40]
