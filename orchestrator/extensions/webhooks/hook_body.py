"""Parse the body of a webhook: JSON, a form, or text."""

from urllib.parse import parse_qsl

import orjson
from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import MAX_DEPTH, is_too_deep

FORM = "application/x-www-form-urlencoded"
IN_A_FORM = "payload"  # the field in which GitHub and others put JSON
MAX_FIELDS = 1000


class PayloadError(OrchestratorError):
    """A body cannot be parsed; the message says why."""


def read_payload(content_type: str, raw: bytes) -> JsonValue:
    """Return a body's value: JSON, the fields of a form, or else its text.

    Raises:
        PayloadError: the body does not match its type.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return _parse_json(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise PayloadError("the body is neither JSON nor text in UTF-8") from None
    return _parse_form(text) if kind == FORM else text


def _parse_form(text: str) -> JsonValue:
    try:
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise PayloadError(f"the form has more than {MAX_FIELDS} fields") from None
    if fields.keys() == {IN_A_FORM} and fields[IN_A_FORM].lstrip().startswith(("{", "[")):
        return _parse_json(fields[IN_A_FORM].encode())
    return {**fields}


def _parse_json(raw: bytes) -> JsonValue:
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise PayloadError(f"the body is not JSON: {error}") from None
    if is_too_deep(value):
        raise PayloadError(f"the body is nested deeper than {MAX_DEPTH} levels")
    return value
