"""The chat systems of the channel host: what `channel.json` in each one's folder says of it."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from pydantic import Field

from thinker.protocol.messages import Frozen

FOLDER = Path(__file__).parent.parent / "channelhost"


class OptionKind(Frozen):
    """An option in agents.json; one without a ``default`` must be set.

    ``must`` completes the sentence "must be …" for what does not match ``pattern``.
    """

    about: str
    pattern: str
    must: str
    default: str | None = None


class ChannelKind(Frozen):
    """A chat system.

    ``secrets`` are variables of the environment or of keys.env, with where to get each; ``keyed``
    as in `orchestrator.channel_api.Adapter`. A message has up to ``limit`` UTF-16 code units. A
    chat takes ``chat_burst`` messages at once, then ``chat_rate`` a second; all chats together
    ``bot_rate``. ``id_pattern`` is that of chats and people, and ``id_example`` one of them.
    """

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


@cache
def channel_kinds() -> Mapping[str, ChannelKind]:
    """Return the chat systems that are installed, by the names of their channels."""
    found = {
        path.parent.name: ChannelKind.model_validate_json(path.read_bytes())
        for path in sorted(FOLDER.glob("*/channel.json"))
    }
    return MappingProxyType(found)
