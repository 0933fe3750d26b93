"""Receive by long polling, store updates, and report the channel's state.

Telegram holds a request open until there is an update, and considers an update confirmed when the
next poll has a higher offset. The offset rises only after the journal has stored the update.

Where: is Telegram polled for updates?
Where: is the offset of Telegram's updates kept?
"""

from collections.abc import Callable, Mapping
from operator import itemgetter

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.agentsfile.channel_kinds import name_secret
from orchestrator.channel_api import ChannelStatus, Intake, SendError, SendOutcome
from orchestrator.channels import formatting
from orchestrator.extensions.telegram import updates
from orchestrator.extensions.telegram.bot_api import POLL_WAIT, BotApi, User, WebhookInfo
from orchestrator.extensions.telegram.bot_errors import BotApiError
from orchestrator.extensions.telegram.updates import Bot
from orchestrator.failpoints import failpoint
from orchestrator.settings import TOKEN
from thinker.protocol.messages import JsonObject

ANSWER_SECONDS = 5.0  # for answering presses, which takes no longer than a poll may wait
MAX_ANSWER = 200  # characters of the answer to a press (Bot API, answerCallbackQuery)
PRIVACY_MODE = (
    "Telegram's privacy mode keeps them from it, except in groups where it is an administrator;"
    " switch that off with /setprivacy at @BotFather, add the bot to its groups again and restart"
    " the daemon"
)


class GroupMoves:
    """New ids of groups that became supergroups, keyed by the old ids, which the journal keeps.

    ``unrecorded`` are those not yet in the journal.
    """

    def __init__(self) -> None:
        self.moved: dict[str, str] = {}
        self.unrecorded: dict[str, str] = {}

    def add_move(self, old: str, new: str) -> None:
        self.moved[old] = self.unrecorded[old] = new

    def add_stored_moves(self, stored: Mapping[str, str]) -> None:
        """Add the moves that the journal knows: first ids, keyed by the new ones."""
        self.moved = {old: new for new, old in stored.items()} | self.moved

    async def record_moves(self, intake: Intake, channel: str, bot_id: str) -> None:
        """Store the unrecorded moves."""
        for old, new in [*self.unrecorded.items()]:
            await intake.record_chat_move(channel, bot_id, old, new)
            self.unrecorded.pop(old, None)


class UpdateStore:
    """Passes updates to the journal once it is ``ready``; ``offset`` is the next number."""

    def __init__(self, api: BotApi, moves: GroupMoves, intake: Intake) -> None:
        self._api = api
        self._channel = api.channel
        self._moves = moves
        self._intake = intake
        self._bot = Bot(api.bot_id, "")
        self.offset = 0
        self.ready = False

    async def open(self, status: ChannelStatus) -> None:
        """Load once what storing needs: the bot's name, moved groups and the next number."""
        if self.ready:
            return
        me = await self._api.call_method("getMe", {}, User)
        status.withheld = "" if me.can_read_all_group_messages else PRIVACY_MODE
        self._moves.add_stored_moves(await self._intake.list_chat_moves(self._channel))
        self.offset = await self._intake.load_offset(self._channel, self._api.bot_id)
        self._bot = Bot(self._api.bot_id, me.username, self._channel)
        self.ready = True

    async def store_updates(self, received: list[JsonValue]) -> None:
        """Store updates, after any moves of groups among them.

        Raises:
            SendError: no update has a number.
        """
        for old, new in filter(None, map(updates.parse_group_move, received)):
            self._moves.add_move(old, new)
        if self._moves.unrecorded:
            await self._moves.record_moves(self._intake, self._channel, self._api.bot_id)
        if received:
            await self._store_messages(received)

    async def _store_messages(self, received: list[JsonValue]) -> None:
        numbered = [
            (number, update)
            for update in received
            if (number := updates.parse_update_number(update)) is not None
        ]
        if len(numbered) < len(received):
            log.warning("telegram_update_without_number", count=len(received) - len(numbered))
        if not numbered:
            raise SendError(
                "telegram getUpdates: the updates have no update_id; check TELEGRAM_API_URL",
                SendOutcome.UNKNOWN,
            )
        numbered.sort(key=itemgetter(0))  # a repeated update may precede older ones
        # It may fall: after a quiet week Telegram's numbers start anywhere.
        offset = numbered[-1][0] + 1
        messages = [
            updates.parse_inbound_message(update, number, self._bot) for number, update in numbered
        ]
        answers = await self._intake.accept(messages, offset)
        self.offset = offset
        if answers:
            await self._answer_presses(answers)

    async def _answer_presses(self, answers: Mapping[str, str]) -> None:
        """Show each person who pressed a button the outcome; failures do not matter."""
        with anyio.move_on_after(ANSWER_SECONDS):
            async with anyio.create_task_group() as tasks:
                for message_id, text in answers.items():
                    tasks.start_soon(self._answer_press, message_id, text)

    async def _answer_press(self, message_id: str, text: str) -> None:
        params: JsonObject = {
            "callback_query_id": message_id.removeprefix(updates.PRESSED),
            "text": formatting.render_plain_text(text)[:MAX_ANSWER],
        }
        try:
            await self._api.call_method("answerCallbackQuery", params, object)
        except BotApiError as error:
            log.debug("press_not_answered", problem=str(error))


QUIET = 1.0  # seconds between polls that a server does not hold open
MAX_BACKOFF = 60.0  # seconds
CONFLICT_BACKOFF = 10.0  # seconds; Telegram holds the poll of a stopped daemon for about 30
LASTING_CONFLICT_SECONDS = 180.0  # a longer conflict is not caused by a restart
RIVAL = (
    "another program asks for the messages of this bot, and each gets only some: stop that program,"
    " or make a bot for this one at @BotFather and put its token into {variable}"
)
log = structlog.get_logger()


class Polling:
    """A way to receive; ``pause`` is the seconds before the next round."""

    def __init__(self, api: BotApi, store: UpdateStore, clock: Callable[[], float]) -> None:
        self._api = api
        self._store = store
        self._clock = clock
        self._free = False  # whether no webhook is set, which would keep updates from polls
        self._first = True
        self.pause = 0.0

    async def run_round(self) -> str:
        """Poll once and store the updates; return an empty problem."""
        if not self._free:
            await self._remove_webhook()
            self._free = True
        began, first = self._clock(), self._first
        # The first poll returns immediately, so that a quiet bot is soon known to be ready.
        wait = 0 if first else POLL_WAIT
        failpoint("poll:before")
        try:
            received = await self._api.fetch_updates(self._store.offset, updates.KINDS, wait)
        except BotApiError as error:
            self._free = not error.is_conflict  # a webhook may be the cause: look again
            raise
        failpoint("poll:after")
        await self._store.store_updates(received)
        self._first = False
        self.pause = QUIET if not (received or first) and self._clock() - began < 1 else 0.0
        return ""

    async def _remove_webhook(self) -> None:
        try:
            webhook = await self._api.call_method("getWebhookInfo", {}, WebhookInfo)
            if webhook.url:
                # Never with drop_pending_updates, which would lose messages.
                await self._api.call_method("deleteWebhook", {}, object)
        except BotApiError as error:
            if not error.is_unsupported:
                raise


class Reception:
    """Keeps the state of a channel; ``clock`` and ``chance`` are the adapter's."""

    def __init__(
        self, status: ChannelStatus, clock: Callable[[], float], chance: Callable[[], float]
    ) -> None:
        self._status = status
        self._clock = clock
        self._chance = chance
        self._variable = name_secret(TOKEN, status.name)
        self._failures = 0
        self._conflict_since: float | None = None
        self._rival_at: float | None = None  # last conflict that no restart explains
        self._rival_conflicts = 0

    def record_answer(self, problem: str = "") -> None:
        """Note that Telegram answered; ``problem`` says why updates still do not arrive.

        The daemon still counts as ready: a load balancer that dropped it would keep updates away.
        """
        now = self._clock()
        self._failures, self._status.last_ok = 0, now
        if self._rival_at is not None and now - self._rival_at < LASTING_CONFLICT_SECONDS:
            # Two programs take turns: each is answered now and then.
            self._set_status(*self._describe_conflict(now))
            return
        self._conflict_since, self._rival_at, self._rival_conflicts = None, None, 0
        if problem or (self._status.state, self._status.detail) != ("ok", ""):
            self.report_problem(problem)

    def report_problem(self, problem: str) -> None:
        """Set the channel's status: degraded if there is a ``problem``, otherwise ok."""
        self._set_status("degraded" if problem else "ok", problem)

    def record_failure(self, error: Exception) -> float:
        """Record a failure; return the seconds until the next try."""
        self._failures += 1
        delay = 2.0 ** min(self._failures, 6)
        state, detail = "degraded", str(error) or type(error).__name__
        if not isinstance(error, SendError):
            detail = describe_store_failure(error)
        elif isinstance(error, BotApiError) and error.is_conflict:
            state, detail = self._record_conflict()
            delay *= CONFLICT_BACKOFF / 2
        elif isinstance(error, BotApiError) and error.is_token_refused:
            detail = f"token refused; copy it from @BotFather to {self._variable} in keys.env"
            delay = MAX_BACKOFF
        self._set_status(state, detail)
        if isinstance(error, SendError) and error.retry_after:
            return error.retry_after
        return min(MAX_BACKOFF, delay * (1 + self._chance() / 2))

    def _record_conflict(self) -> tuple[str, str]:
        now = self._clock()
        if self._conflict_since is None:
            self._conflict_since = now
        if self._status.last_ok is not None:  # else it may be the poll of a daemon that has ended
            self._rival_at = now
            self._rival_conflicts += 1
        return self._describe_conflict(now)

    def _describe_conflict(self, now: float) -> tuple[str, str]:
        """Return the channel's state and detail while another program polls the bot."""
        began = now if self._conflict_since is None else self._conflict_since
        certain = self._rival_conflicts > 1 or now - began >= LASTING_CONFLICT_SECONDS
        state = "degraded" if certain else self._status.state
        return state, RIVAL.format(variable=self._variable)

    def _set_status(self, state: str, detail: str) -> None:
        if detail and (state, detail) != (self._status.state, self._status.detail):
            log.warning("telegram_failed", state=state, detail=detail)
        self._status.state, self._status.detail = state, detail


def describe_store_failure(error: Exception) -> str:
    """Describe why the journal did not accept updates."""
    return f"cannot store updates: {str(error) or type(error).__name__}"
