"""Read the body of a webhook: JSON, a form, or text."""

from urllib.parse import parse_qsl

import orjson
from pydantic import JsonValue

from orchestrator.errors import OrchestratorError
from thinker.protocol.messages import MAX_DEPTH, too_deep

FORM = "application/x-www-form-urlencoded"
IN_A_FORM = "payload"  # the field in which GitHub and others put JSON
MAX_FIELDS = 1000


class PayloadError(OrchestratorError):
    """A body that cannot be read; the message says why."""


def read_payload(content_type: str, raw: bytes) -> JsonValue:
    """Return the value of a body: that of JSON, the fields of a form, otherwise its text.

    Raises:
        PayloadError: the body is not what its type says.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return _json(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise PayloadError("the body is neither JSON nor text in UTF-8") from None
    return _form(text) if kind == FORM else text


def _form(text: str) -> JsonValue:
    try:
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise PayloadError(f"the form has more than {MAX_FIELDS} fields") from None
    if fields.keys() == {IN_A_FORM} and fields[IN_A_FORM].lstrip().startswith(("{", "[")):
        return _json(fields[IN_A_FORM].encode())
    return {**fields}


def _json(raw: bytes) -> JsonValue:
    try:
        value: JsonValue = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise PayloadError(f"the body is not JSON: {error}") from None
    if too_deep(value):
        raise PayloadError(f"the body is nested deeper than {MAX_DEPTH} levels")
    return value
