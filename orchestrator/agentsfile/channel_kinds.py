"""The chat systems of the channel host, as the `channel.json` in each folder describes them.

A chat system may have several accounts: two bots, two workspaces. The channel of the default one
has the name of the system, ``slack``; that of another one is ``slack@work``.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple, Self, TypeAlias

from pydantic import ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from orchestrator import installed
from orchestrator.agentsfile.missing_extensions import list_reserved_channels
from orchestrator.installed import MANIFEST
from thinker.protocol.messages import Frozen

# Of every hosted channel.
COMMON_FIELDS = "enabled", "access", "allowlist", "roles", "groups", "variables", "accounts"
ACCOUNT_SIGN = "@"
ModuleName: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")]


class OptionKind(Frozen):
    """An option in agents.json; required unless it has a ``default``.

    ``must`` completes the sentence "must be …" for values that do not match ``pattern``.
    """

    model_config = ConfigDict(extra="forbid")

    about: str
    pattern: re.Pattern[str]
    must: str
    default: str | None = None

    @model_validator(mode="after")
    def _check_default(self) -> Self:
        if self.default is not None and not re.fullmatch(self.pattern, self.default):
            raise ValueError("its default does not match its pattern")
        return self


class ChannelKind(Frozen):
    """A chat system.

    ``secrets`` are variables of the environment or of keys.env, each with where to get it.
    ``keyed`` says that the platform drops repeated messages; see `Adapter.deduplicates` in
    `orchestrator.channel_api`. A message has up to ``limit`` UTF-16 code units. A chat takes
    ``chat_burst`` messages at once, then ``chat_rate`` a second; all chats together ``bot_rate``.
    ``id_pattern`` matches ids of chats and people, ``id_example`` is such an id.
    ``requires`` names top-level modules that its process needs and an installation may lack;
    ``extra`` is the extra of this distribution that installs them.
    """

    model_config = ConfigDict(extra="forbid")

    title: str
    options: dict[str, OptionKind] = Field(default_factory=dict)
    secrets: dict[str, str] = Field(default_factory=dict)
    keyed: bool = False
    limit: int = Field(ge=100)
    chat_rate: float = Field(1.0, gt=0)
    chat_burst: int = Field(4, ge=1)
    bot_rate: float = Field(20.0, gt=0)
    id_pattern: re.Pattern[str]
    id_example: str
    requires: tuple[ModuleName, ...] = ()
    extra: str = ""

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        if taken := sorted(self.options.keys() & {*COMMON_FIELDS}):
            raise ValueError(f"options: every channel has a field {taken[0]!r}; rename the option")
        if not re.fullmatch(self.id_pattern, self.id_example):
            raise ValueError("id_example does not match id_pattern")
        return self


class _Kinds(NamedTuple):
    """The usable chat systems, and the reasons why others are not, keyed by channel name."""

    usable: Mapping[str, ChannelKind]
    broken: Mapping[str, str]


def split_account(channel: str) -> tuple[str, str]:
    """Return the chat system of a channel and the account; empty for the default account."""
    system, _, account = channel.partition(ACCOUNT_SIGN)
    return system, account


def name_secret(variable: str, channel: str) -> str:
    """Return the variable with a channel's secret: ``SLACK_BOT_TOKEN_WORK`` of ``slack@work``."""
    _, account = split_account(channel)
    return f"{variable}_{account.upper().replace('-', '_')}" if account else variable


def load_channel_kinds() -> Mapping[str, ChannelKind]:
    """Return the installed chat systems, keyed by channel name."""
    return _read_kinds(tuple(installed.find_channels().items())).usable


def explain_broken_kind(name: str) -> str:
    """Return the reason why an installed channel cannot be used; empty for any other channel."""
    broken = _read_kinds(tuple(installed.find_channels().items())).broken
    return broken.get(name) or installed.find_installed().broken.get(name, "")


@lru_cache(maxsize=8)
def _read_kinds(folders: tuple[tuple[str, Path], ...]) -> _Kinds:
    usable: dict[str, ChannelKind] = {}
    broken: dict[str, str] = {}
    for name, folder in folders:
        if name in list_reserved_channels():
            broken[name] = f"{folder}: the name of another channel"
            continue
        try:
            usable[name] = ChannelKind.model_validate_json((folder / MANIFEST).read_bytes())
        except (OSError, OverflowError, RecursionError) as error:  # of a file, or of a pattern
            broken[name] = f"{folder / MANIFEST}: {error}"
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
            broken[name] = f"{folder / MANIFEST}: {'; '.join(map(_describe_fault, details))}"
    return _Kinds(usable, broken)


def _describe_fault(error: ErrorDetails) -> str:
    place, kind = ".".join(map(str, error["loc"])), error["type"]
    if kind in {"extra_forbidden", "missing"}:
        return f'{"unknown" if kind == "extra_forbidden" else "missing"} field "{place}"'
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    return f"{place}: {message}" if place else message
