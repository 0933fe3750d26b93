"""Bodies of requests: JSON objects, and what is wrong with one."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import ValidationError

from orchestrator.web.error_response import ApiProblem, make_invalid_problem
from thinker.protocol.messages import MAX_DEPTH, JsonObject, is_too_deep


def parse_json_object(raw: bytes) -> JsonObject:
    """Return a body that is a JSON object.

    Raises:
        ApiProblem: the body is not a JSON object, or is nested too deeply.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise make_invalid_problem(None, f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise make_invalid_problem(None, "the body must be a JSON object")
    if is_too_deep(body):
        raise make_invalid_problem(None, f"the body is nested deeper than {MAX_DEPTH} levels")
    return body


def make_validation_problem(error: ValidationError, body: Mapping[str, Any]) -> ApiProblem:
    """Return the problem of the first field that is wrong in ``body``."""
    detail = error.errors(include_url=False, include_input=False)[0]
    param = ".".join(
        map(str, _find_body_place(detail["loc"], body, missing=detail["type"] == "missing"))
    )
    return make_invalid_problem(param, f"{param}: {detail['msg']}")


def _find_body_place(
    loc: tuple[int | str, ...], body: Mapping[str, Any], *, missing: bool
) -> list[int | str]:
    """Return the parts of a place that the body has; pydantic adds names of types it tried."""
    found: list[int | str] = []
    value: Any = body
    for part in loc:
        inner = dict(enumerate(value)) if isinstance(value, list) else value
        if isinstance(inner, Mapping) and part in inner:
            found.append(part)
            value = inner[part]
    return [*found, loc[-1]] if missing else found
