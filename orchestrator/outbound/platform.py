"""The adapter, holds and calls that the queues of a channel's chats share."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import anyio
import structlog

from orchestrator.channel_api import Adapter, OutboundPart, SendError, SendOutcome
from orchestrator.failpoints import failpoint
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns.outbox import OutboxRow
from orchestrator.journal.turns.owners import is_owned
from orchestrator.outbound.flood_control import FloodControl
from orchestrator.placement import Placement, Share, SingleNode
from orchestrator.wakeup import Wakeup

PLACEHOLDER = "…"  # what a chat sees for a moment before a reply whose first sending failed
CALL_TIMEOUT = 60.0  # seconds for one platform call, beyond the adapter's own limits
MAX_RETRY_DELAY = 60.0  # seconds
Speak: TypeAlias = Callable[[OutboxRow], Awaitable[None]]
log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Platform:
    """The platform of a channel, shared by the queues of its chats.

    ``rested`` is woken when a queue has nothing to send now, or waits for the platform's rate.
    ``speak`` gives a row that is to be spoken its file, or makes it text; ``placement`` says whose
    rows this node sends. Once another daemon
    follows (``handed_over``), no further call is made.
    """

    store: Store
    adapter: Adapter
    flood: FloodControl
    clock: Callable[[], int]
    rested: Wakeup
    speak: Speak
    placement: Placement = field(default_factory=SingleNode)
    handed_over: anyio.Event = field(default_factory=anyio.Event)
    _doubts: dict[str, bool] = field(default_factory=dict)
    _owners: dict[str, set[str]] = field(default_factory=dict)  # whose messages went to a chat

    def sends_row(self, row: OutboxRow | None) -> bool:
        """Return whether this node sends a row; its chat's later ones wait for it all the same."""
        return row is not None and is_owned(row.owner, self.placement.share)

    def is_doubtful(self, row: OutboxRow) -> bool:
        """Return whether a chat may hold messages of this bot that the journal does not know.

        That is so after an unclean end, until the journal has the number of a new message; where
        other nodes send, of a new message of the row's owner.
        """
        if self._doubts.get(row.chat_id, self.store.unclean):
            return True
        shared = self.placement.share is not None
        return shared and row.owner not in self._owners.get(row.chat_id, ())

    def doubt_chats(self, share: Share) -> None:
        """Doubt the chats of a share: another node may have sent to them."""
        for owners in self._owners.values():
            owners.difference_update([owner for owner in owners if owner in share])

    def trust_chat(self, row: OutboxRow) -> None:
        """Doubt a chat no longer: the journal has the number of a new message, a row's."""
        self.set_doubtful(row.chat_id, doubtful=False)
        if self.placement.share is not None:
            self._owners.setdefault(row.chat_id, set()).add(row.owner)

    def set_doubtful(self, chat_id: str, *, doubtful: bool = True) -> None:
        """Set whether the chat may hold messages that the journal does not know."""
        if doubtful is not self._doubts.get(chat_id, self.store.unclean):
            self._doubts[chat_id] = doubtful

    def find_hold_seconds(self, chat_id: str) -> float:
        """Return the seconds for which the platform holds a chat."""
        if not self.flood.until:
            return 0.0
        return self.flood.find_seconds_left(self.adapter.name, chat_id, anyio.current_time())

    def find_send_delay(self, row: OutboxRow) -> float:
        """Return the seconds until a row may be sent.

        A delay longer than any ever stored means that the clock was set back.
        """
        delay = (row.not_before - self.clock()) / 1000 if row.not_before else 0.0
        return max(self.find_hold_seconds(row.chat_id), 0.0 if delay > MAX_RETRY_DELAY else delay)

    def hold_after_refusal(self, chat_id: str, error: SendError) -> None:
        """Hold a chat, or all chats, if the platform asked for it."""
        if error.retry_after:
            now = anyio.current_time()
            held = self.flood.hold_chat(self.adapter.name, chat_id, error.retry_after, now)
            log.warning("held", channel=held.channel, chat=held.chat_id, seconds=held.seconds)


@contextmanager
def limit_call(name: str, more: float = 0) -> Iterator[None]:
    """Bound a platform call, between two failpoints; after a timeout it may still have worked.

    ``more`` is the extra time for its file, in seconds.
    """
    failpoint(f"{name}:before")
    try:
        with anyio.fail_after(CALL_TIMEOUT + more):
            yield
        failpoint(f"{name}:after")
    except TimeoutError:
        raise SendError("the platform did not answer", SendOutcome.UNKNOWN) from None


def build_part(row: OutboxRow, placeholder: str = "") -> OutboundPart:
    """Build the message of a row; a final text begins as ``placeholder``, if there is one."""
    replaced = row.final and bool(placeholder)
    return OutboundPart(
        chat_id=row.chat_id,
        text=placeholder if replaced else "" if row.voice else row.body,
        thread_id=row.thread_id or None,
        markdown=row.markdown and not replaced,
        reply_to=row.reply_to,
        rendered=None if replaced else row.rendered,
        key=row.key,
        queued_at=row.created_at,
    )
