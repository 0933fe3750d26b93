"""The wire between supervisor and broker.

Supervisor to broker: ``channel/open``, ``channel/close`` and, as to every child process, ``ping``
(requests), ``channel/warm`` (notification). Broker to supervisor: ``ready`` and ``call/ended``
(notifications). The descriptor of a channel arrives on a second socket, the broker's standard
input, before its ``channel/open``.
"""

from typing import Literal, TypeAlias

from pydantic import Field

from thinker.protocol.messages import Frozen, Usage

CHANNEL_OPEN = "channel/open"  # ChannelOpen → ChannelAccepted
CHANNEL_CLOSE = "channel/close"  # ChannelClose → ChannelAccepted
CHANNEL_WARM = "channel/warm"  # notification ChannelWarm
CALL_ENDED = "call/ended"  # notification CallEnded

FD_VARIABLE = "ORCHESTRATOR_BROKER_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"

# How usage is counted; "stated": only as the answer says, as its size tells nothing.
CountsFormat: TypeAlias = Literal["openai", "anthropic", "stated"]


class Grant(Frozen):
    """One address that an agent may post to, and what the broker adds to its requests.

    ``headers`` carry the key, and the strings in ``secrets`` are removed from answers. ``provider``
    names calls for prices; ``counts`` is how their usage is counted. With ``form``, a form is
    posted instead of JSON; with ``pictures``, pictures that an answer links to are fetched.
    A ``probe`` asks about a model, without a price, by ``method``.
    ``connect`` is the time to open a connection in seconds, unless it is the usual one.
    """

    url: str
    headers: dict[str, str] = Field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = Field((), repr=False)
    provider: str
    counts: CountsFormat = "openai"
    form: bool = False
    pictures: bool = False
    connect: float | None = None
    method: Literal["GET", "POST"] = "POST"
    probe: bool = False


class ChannelOpen(Frozen):
    """A worker's channel, with a unique number and the rights of its agent."""

    channel: int
    agent_id: str
    grants: tuple[Grant, ...]


class ChannelClose(Frozen):
    """A channel whose worker has ended; its requests are aborted."""

    channel: int


class ChannelWarm(Frozen):
    """A channel whose worker is about to call its provider: connect now."""

    channel: int


class ChannelAccepted(Frozen):
    """The request was accepted."""


class CallEnded(Frozen):
    """The usage of a call, named by its worker; ``estimated`` if the provider did not count.

    ``model`` is empty if the answer names none. It took ``seconds``; ``cut`` says that the
    answer is incomplete.
    """

    channel: int
    call_id: str
    model: str = ""
    usage: Usage
    estimated: bool = False
    seconds: float = 0.0
    cut: bool = False
