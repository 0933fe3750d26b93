"""The channel ``hook``: each webhook of agents.json is a chat.

What is said in the chat of an outgoing webhook is sent to its server. Of the others the journal
alone keeps what is said.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from orchestrator.agentsfile.agents_file import HookChannel
from orchestrator.agentsfile.hook_settings import OutgoingHook
from orchestrator.channel_api import Intake, OutboundPart, SendError, SendOutcome
from orchestrator.channels.stored_replies import JournalChannel
from orchestrator.journal.db.store import Store
from orchestrator.journal.turns.outbox import HOOKS

if TYPE_CHECKING:
    from orchestrator.channels.hook.hook_post import HookSender
    from thinker.http.exchange import Network


class Webhooks(JournalChannel):
    """The `Adapter` of webhooks.

    ``settings`` returns `channels.hook` in force, ``configured`` when it may have changed.
    ``clock`` returns milliseconds since the epoch.
    """

    name = HOOKS
    from_journal = False  # `send` calls servers
    keyed = True  # they are told the key, and to drop what they have

    def __init__(
        self,
        store: Store,
        settings: Callable[[], HookChannel],
        configured: Callable[[], Awaitable[None]],
        clock: Callable[[], int],
        network: "Network | None" = None,
    ) -> None:
        super().__init__(store)
        self._settings = settings
        self._configured = configured
        self._clock = clock
        self._network = network
        self._sender: HookSender | None = None
        self._told = frozenset(self._outgoing())  # for transactions, which run in a thread

    async def run(self, intake: Intake) -> None:
        """Name the webhooks in the status; the endpoint hands in what they bring."""
        del intake
        try:
            while True:
                self._told = frozenset(self._outgoing())
                self.status.detail = "; ".join(_named(self._settings()))
                await self._configured()
        finally:
            if self._sender is not None:
                self._sender.close()

    def delivered_when_stored(self, chat_id: str) -> bool:
        """Return whether no server is to be told what is said in a chat."""
        return chat_id not in self._told

    async def send(self, part: OutboundPart) -> str:
        hook = self._outgoing().get(part.chat_id)
        if hook is not None:
            await self._calls().post(hook, part)
        elif part.chat_id not in self._settings().incoming:
            problem = f"there is no webhook {part.chat_id!r} in channels.hook.outgoing"
            raise SendError(problem, SendOutcome.PERMANENT)
        return part.key

    def _outgoing(self) -> Mapping[str, OutgoingHook]:
        settings = self._settings()
        return settings.outgoing if settings.enabled else {}

    def _calls(self) -> "HookSender":
        if self._sender is None:
            # Most daemons send nothing, and do without an HTTP client.
            from orchestrator.channels.hook.hook_post import HookSender  # noqa: PLC0415 - see above

            self._sender = HookSender(lambda: self._clock() / 1000, self._network)
        return self._sender


def _named(settings: HookChannel) -> Iterator[str]:
    if settings.enabled and settings.incoming:
        yield f"in: {', '.join(settings.incoming)}"
    if settings.enabled and settings.outgoing:
        yield f"out: {', '.join(settings.outgoing)}"
