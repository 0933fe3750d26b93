"""Regular expressions of agents.json, which no text can make slow.

They are matched by the engine that comes with pydantic, in a time that grows with the text alone:
it never goes back. So look-around and references to groups are refused.
"""

from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, StringConstraints
from pydantic_core import SchemaError, SchemaValidator, core_schema

MAX_PATTERN = 200  # characters
MAX_SEEN = 1_000  # characters of a text in which a pattern is looked for
KEPT = 256  # patterns that stay compiled


def found(pattern: str, text: str) -> bool:
    """Return whether a valid pattern is found near the beginning of a text, in any case."""
    return _compiled(pattern).isinstance_python(text[:MAX_SEEN])


@lru_cache(KEPT)
def _compiled(pattern: str) -> SchemaValidator:
    schema = core_schema.str_schema(pattern=f"(?i){pattern}", regex_engine="rust-regex")
    return SchemaValidator(schema)


def _valid(pattern: str) -> str:
    try:
        _compiled(pattern)
    except SchemaError as error:
        _, _, reason = str(error).rpartition("rror: ")  # of "SchemaError" or of "error"
        raise ValueError(f"is no regular expression that can be used: {reason}") from error
    return pattern


TextPattern = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_PATTERN), AfterValidator(_valid)
]
