"""Field types that several models of agents.json share, and what they refuse."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from orchestrator.timezones import is_known_zone, suggest_zone

# Variables that make a process load or run other code than configured, or redirect its traffic.
DANGEROUS_NAMES = frozenset({"BASH_ENV", "NODE_OPTIONS"})
DANGEROUS_PREFIXES = ("LD_", "PYTHON", "GIT_", "THINKER_")
DANGEROUS_SUFFIXES = ("_PROXY",)
FRAMING = frozenset(
    {"content-length", "transfer-encoding"}
)  # another value would truncate the body
HEADER_TOKEN = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
HEADER_VALUE = re.compile(r"([^\0\s]+([ \t]+[^\0\s]+)*)?")


class ConfigModel(BaseModel):
    """Base of everything in agents.json: camelCase in the file, frozen, no unknown fields."""

    entry_nouns: ClassVar[Mapping[str, str]] = {}
    """What messages call an entry of a field, keyed by field. Entries of these fields load one by
    one, so that an error leaves out only that entry; `${NAME}` in their addresses, secrets and
    headers is filled in."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        defer_build=True,
    )


def _accept_number_as_id(value: Any) -> Any:  # noqa: ANN401 - before validation it is whatever JSON holds
    """Accept a number as an id: platforms use numbers, which people often write without quotes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _require_numeric_id(value: str) -> str:
    if not (value.isascii() and value.removeprefix("-").isdecimal()):
        raise ValueError("must be a numeric id; names can be taken over by someone else")
    return value


def _require_timezone(value: str) -> str:
    if not is_known_zone(value):
        raise ValueError(
            f"must be an IANA time zone that this machine knows, such as {suggest_zone(value)}"
        )
    return value


def require_http_url(value: str) -> str:
    """Return an http or https URL; raise `ValueError` for anything else."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(char.isspace() for char in value):
        raise ValueError("must be an http or https URL")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user name or password; keys belong in keys.env")
    return value


def _require_safe_variables(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not (name.isidentifier() and name.isascii()):
            raise ValueError(f"has {name!r}, which is not a variable name")
        if is_dangerous_variable(name):
            raise ValueError(f"must not set {name}: it changes what the process loads or contacts")
        if "\0" in text:
            raise ValueError(f"has a NUL character in {name}")
    return value


def _require_safe_headers(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if not HEADER_TOKEN.fullmatch(name):
            raise ValueError(f"has {name!r}, which is not the name of a header")
        if name.lower() in FRAMING:
            raise ValueError(f"must not set {name}, which follows from the body; remove it")
        if not HEADER_VALUE.fullmatch(text):
            raise ValueError(
                f"has a value of {name} that no request can carry; write it in one line, without"
                " spaces at its ends"
            )
    return value


def _require_model_name(value: str) -> str:
    provider, slash, model = value.partition("/")
    if slash and provider and not model.strip():  # a server may call one "/models/name"
        raise ValueError(f'must be "model" or "provider/model", not {value!r}')
    return value


def is_dangerous_variable(name: str) -> bool:
    """Return whether a process must not get this variable from the configuration."""
    upper = name.upper()
    return (
        upper in DANGEROUS_NAMES
        or upper.startswith(DANGEROUS_PREFIXES)
        or upper.endswith(DANGEROUS_SUFFIXES)
    )


AGENT_ID = r"^[a-z0-9][a-z0-9_-]{0,63}$"
ACCOUNT_NAME = r"^[a-z0-9][a-z0-9_-]{0,31}$"
ENTRY_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
CHANNEL_NAME = r"^[^*\s]+$"
MODEL_NAME = r"^[^/\s]+/\S+$"
HOST_NAME = r"^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$"
WEB_ORIGIN = r"^https?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$"
PATH_PREFIX = r"^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$"
HEADER_NAME = r"^[A-Za-z][A-Za-z0-9-]{0,63}$"
LANGUAGE = r"^[a-z]{2,3}$"
PICTURE_SIZE = r"^[1-9][0-9]{1,3}x[1-9][0-9]{1,3}$"
PERSON = r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$"
PATTERN_WORDS = {
    LANGUAGE: 'must be the code of a language, such as "de"',
    PICTURE_SIZE: 'must be width and height in pixels, such as "1024x1536"',
    WEB_ORIGIN: 'must be only the origin of a web page, such as "https://chat.example"',
    AGENT_ID: (
        'must be 1 to 64 lower-case letters, digits, "-" and "_", and begin with a letter or digit'
    ),
    ACCOUNT_NAME: (
        'must be 1 to 32 lower-case letters, digits, "-" and "_", and begin with a letter or digit'
    ),
    ENTRY_NAME: (
        'must be 1 to 64 letters, digits, "-", "_" and ".", and begin with a letter or digit'
    ),
    MODEL_NAME: 'must be "provider/model"; "*" stands for any text',
    CHANNEL_NAME: 'must be the name of one channel; only chatId may be "*"',
    HOST_NAME: 'must be only the name of a host, such as "agents.example.org"',
    PATH_PREFIX: 'must begin with "/" and not end with one, such as "/agents"',
    HEADER_NAME: 'must be the name of a header, such as "X-Forwarded-Email"',
    PERSON: 'must be 1 to 64 letters, digits, ".", "_", "@", "+" and "-", as in an address',
}

_ID_SCHEMA = WithJsonSchema({"type": ["string", "integer"]})

Text = Annotated[str, StringConstraints(min_length=1)]
OtherModel = Annotated[Text, AfterValidator(_require_model_name)]
Language = Annotated[str, StringConstraints(pattern=LANGUAGE)]
PictureSize = Annotated[str, StringConstraints(pattern=PICTURE_SIZE)]
AgentId = Annotated[str, StringConstraints(pattern=AGENT_ID)]
AccountName = Annotated[str, StringConstraints(pattern=ACCOUNT_NAME)]
EntryName = Annotated[str, StringConstraints(pattern=ENTRY_NAME)]
ModelName = Annotated[str, StringConstraints(pattern=MODEL_NAME)]
ChannelName = Annotated[str, StringConstraints(pattern=CHANNEL_NAME)]
HostName = Annotated[str, StringConstraints(pattern=HOST_NAME)]
WebOrigin = Annotated[str, StringConstraints(pattern=WEB_ORIGIN)]
PathPrefix = Annotated[str, StringConstraints(pattern=PATH_PREFIX, max_length=200)]
Person = Annotated[str, StringConstraints(pattern=PERSON)]
OptionText = Annotated[str, BeforeValidator(_accept_number_as_id), _ID_SCHEMA]
PlatformId = Annotated[Text, BeforeValidator(_accept_number_as_id), _ID_SCHEMA]
NumericId = Annotated[
    str, BeforeValidator(_accept_number_as_id), AfterValidator(_require_numeric_id), _ID_SCHEMA
]
Timezone = Annotated[str, AfterValidator(_require_timezone)]
HttpUrl = Annotated[str, AfterValidator(require_http_url), WithJsonSchema({"type": "string"})]
Variables = Annotated[dict[str, str], AfterValidator(_require_safe_variables)]
AnyHeader = Annotated[str, StringConstraints(pattern=HEADER_NAME)]
Headers = Annotated[dict[str, str], AfterValidator(_require_safe_headers)]
NamedHeaders = Annotated[dict[AnyHeader, str], AfterValidator(_require_safe_headers)]
