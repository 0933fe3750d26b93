"""The channel ``hook``: each webhook of agents.json is a chat.

Messages in the chat of an outgoing webhook are sent to its server. Those of other webhooks are
only stored in the journal.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from anyio import to_thread

from orchestrator.channel_api import Intake, OutboundPart, SendError, SendOutcome
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.extensions.webhooks.hook_settings import HookChannel, OutgoingHook
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns.outbox import HOOKS

if TYPE_CHECKING:
    from orchestrator.extensions.webhooks.hook_post import HookSender

SENDER = "orchestrator.extensions.webhooks.hook_post"


class Webhooks(JournalChannel):
    """The `Adapter` of webhooks.

    ``settings`` returns the current `channels.hook`; ``configured`` waits until that may
    have changed. ``clock`` returns milliseconds since the epoch.
    """

    name = HOOKS
    is_read_from_journal = False  # `send` calls servers
    deduplicates = True  # servers get the key, to drop repetitions

    def __init__(
        self,
        store: Store,
        settings: Callable[[], HookChannel],
        configured: Callable[[], Awaitable[None]],
        clock: Callable[[], int],
    ) -> None:
        super().__init__(store)
        self._settings = settings
        self._configured = configured
        self._clock = clock
        self._sender: HookSender | None = None
        # For transactions, which run in a thread.
        self._told = frozenset(self._get_outgoing_hooks())

    async def run(self, intake: Intake) -> None:
        """Name the webhooks in the status; the endpoint stores their deliveries."""
        del intake
        while True:
            self._told = frozenset(self._get_outgoing_hooks())
            self.status.detail = "; ".join(_describe_webhooks(self._settings()))
            await self._configured()

    def is_delivered_when_stored(self, chat_id: str) -> bool:
        """Return whether a chat's messages go to no server."""
        return chat_id not in self._told

    async def send(self, part: OutboundPart) -> str:
        hook = self._get_outgoing_hooks().get(part.chat_id)
        if hook is not None:
            sender = await self._load_sender()
            await sender.post_message(hook, part)
        elif part.chat_id not in self._settings().incoming:
            problem = f"unknown webhook {part.chat_id!r}; add it to channels.hook.outgoing"
            raise SendError(problem, SendOutcome.PERMANENT)
        return part.key

    def _get_outgoing_hooks(self) -> Mapping[str, OutgoingHook]:
        settings = self._settings()
        return settings.outgoing if settings.enabled else {}

    async def _load_sender(self) -> "HookSender":
        if self._sender is None:
            # Most daemons send nothing, and do without httpx; messages go on while it is loaded.
            loaded = await to_thread.run_sync(import_module, SENDER)
            self._sender = loaded.HookSender(lambda: self._clock() / 1000)
        return self._sender


def _describe_webhooks(settings: HookChannel) -> Iterator[str]:
    if settings.enabled and settings.incoming:
        yield f"in: {', '.join(settings.incoming)}"
    if settings.enabled and settings.outgoing:
        yield f"out: {', '.join(settings.outgoing)}"
