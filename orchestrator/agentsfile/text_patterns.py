"""Regular expressions in agents.json, matched in linear time.

The engine that comes with pydantic matches them without backtracking, so no input can make one
slow. Look-around and references to groups are therefore refused.
"""

from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_PATTERN = 200  # characters
MAX_SEEN = 1_000  # characters of text that a pattern is matched against
MAX_COMPILED = 256  # patterns that stay compiled


def matches_pattern(pattern: str, text: str, seen: int = MAX_SEEN) -> bool:
    """Return whether a valid pattern matches in the first characters of ``text``, in any case."""
    return _compile_pattern(pattern).isinstance_python(text[:seen])


@lru_cache(MAX_COMPILED)
def _compile_pattern(pattern: str) -> SchemaValidator:
    schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
    return SchemaValidator(schema)


def _require_valid_pattern(pattern: str) -> str:
    try:
        _compile_pattern(pattern)
    except SchemaError as error:
        _, _, reason = str(error).rpartition("rror: ")  # of "SchemaError" or of "error"
        raise ValueError(f"is not a usable regular expression: {reason}") from error
    return pattern


TextPattern = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_PATTERN),
    AfterValidator(_require_valid_pattern),
]
