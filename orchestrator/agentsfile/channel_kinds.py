"""The chat systems of the channel host, as the `channel.json` in each folder describes them."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, Field, ValidationError

from orchestrator import installed
from orchestrator.agentsfile.missing_extensions import list_reserved_channels
from orchestrator.installed import MANIFEST
from thinker.protocol.messages import Frozen


class OptionKind(Frozen):
    """An option in agents.json; required unless it has a ``default``.

    ``must`` completes the sentence "must be …" for values that do not match ``pattern``.
    """

    about: str
    pattern: str
    must: str
    default: str | None = None


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
    id_pattern: str
    id_example: str
    requires: tuple[str, ...] = ()
    extra: str = ""


class _Kinds(NamedTuple):
    """The usable chat systems, and the reasons why others are not, keyed by channel name."""

    usable: Mapping[str, ChannelKind]
    broken: Mapping[str, str]


def load_channel_kinds() -> Mapping[str, ChannelKind]:
    """Return the installed chat systems, keyed by channel name."""
    return _read_kinds(tuple(installed.find_channels().items())).usable


def explain_broken_kind(name: str) -> str:
    """Return the reason why an installed channel cannot be used; empty for any other channel."""
    return _read_kinds(tuple(installed.find_channels().items())).broken.get(name, "")


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
        except OSError as error:
            broken[name] = f"{folder / MANIFEST}: {error.strerror}"
        except ValidationError as error:
            details = error.errors(include_url=False, include_input=False)
            faults = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in details)
            broken[name] = f"{folder / MANIFEST}: {'; '.join(faults)}"
    return _Kinds(usable, broken)
