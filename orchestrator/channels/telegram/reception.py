"""How receiving goes: what the status says of it, and how long to wait after a failure."""

from collections.abc import Callable

import structlog

from orchestrator.channel_api import ChannelStatus, SendError
from orchestrator.channels.telegram.bot_errors import BotApiError

MAX_BACKOFF = 60.0  # seconds
CONFLICT_BACKOFF = 10.0  # seconds; Telegram holds the poll of a stopped daemon for about 30
CONFLICT_PATIENCE = 180.0  # seconds; a longer conflict is not caused by a restart
log = structlog.get_logger()


class Reception:
    """Keeps the state of a channel; ``clock`` and ``chance`` are those of its adapter."""

    def __init__(
        self, status: ChannelStatus, clock: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        self._status = status
        self._clock = clock
        self._chance = chance
        self._failures = 0
        self._conflict_since: float | None = None

    def went_on(self, problem: str = "") -> None:
        """Note that Telegram answered; ``problem`` is what keeps updates away all the same.

        The daemon counts as ready then: a load balancer that left it out would keep them away.
        """
        self._failures, self._conflict_since = 0, None
        self._status.last_ok = self._clock()
        self.tell(problem)

    def tell(self, problem: str) -> None:
        """Let the status say what is wrong; nothing if ``problem`` is empty."""
        self._say("degraded" if problem else "ok", problem)

    def failed(self, error: Exception) -> float:
        """Note a failure; return the seconds until the next try."""
        self._failures += 1
        delay = 2.0 ** min(self._failures, 6)
        state, detail = "degraded", str(error) or type(error).__name__
        if not isinstance(error, SendError):
            detail = unstored(error)
        elif isinstance(error, BotApiError) and error.conflict:
            state, detail = self._conflicted()
            delay *= CONFLICT_BACKOFF / 2
        elif isinstance(error, BotApiError) and error.token_refused:
            detail = "token refused; copy it from @BotFather to TELEGRAM_BOT_TOKEN and restart"
            delay = MAX_BACKOFF
        self._say(state, detail)
        if isinstance(error, SendError) and error.retry_after:
            return error.retry_after
        return min(MAX_BACKOFF, delay * (1 + self._chance() / 2))

    def _conflicted(self) -> tuple[str, str]:
        """Return the channel's state and detail while another program polls this bot."""
        now = self._clock()
        if self._conflict_since is None:
            self._conflict_since = now
        lasting = now - self._conflict_since >= CONFLICT_PATIENCE
        return (
            "degraded" if lasting else self._status.state,
            "another program polls this bot; stop it, or use another bot on this machine",
        )

    def _say(self, state: str, detail: str) -> None:
        if detail and (state, detail) != (self._status.state, self._status.detail):
            log.warning("telegram_failed", state=state, detail=detail)
        self._status.state, self._status.detail = state, detail


def unstored(error: Exception) -> str:
    """Return the sentence for updates that the journal did not take."""
    return f"cannot store updates: {str(error) or type(error).__name__}"
