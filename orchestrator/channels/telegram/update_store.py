"""Store the updates of one bot, in whichever way they came."""

from collections.abc import Mapping
from operator import itemgetter

import anyio
import structlog
from pydantic import JsonValue

from orchestrator.channel_api import ChannelStatus, Intake, SendError, SendOutcome
from orchestrator.channels import formatting
from orchestrator.channels.telegram import updates
from orchestrator.channels.telegram.bot_api import BotApi, User
from orchestrator.channels.telegram.bot_errors import BotApiError
from orchestrator.channels.telegram.group_moves import GroupMoves
from orchestrator.channels.telegram.updates import Bot
from thinker.protocol.messages import JsonObject

ANSWER_SECONDS = 5.0  # for answering presses, which takes no longer than a poll may wait
MAX_ANSWER = 200  # characters of the answer to a press (Bot API, answerCallbackQuery)
PRIVACY_MODE = (
    "Telegram's privacy mode keeps them from it, except in groups where it is an administrator;"
    " switch that off with /setprivacy at @BotFather, add the bot to its groups again and restart"
    " the daemon"
)
log = structlog.get_logger()


class UpdateStore:
    """Hands updates to the journal once it is ``ready``; ``offset`` is the next number."""

    def __init__(self, api: BotApi, moves: GroupMoves, intake: Intake) -> None:
        self._api = api
        self._moves = moves
        self._intake = intake
        self._bot = Bot(api.bot_id, "")
        self.offset = 0
        self.ready = False

    async def open(self, status: ChannelStatus) -> None:
        """Learn, once, what storing needs: the bot's name, moved groups and the next number."""
        if self.ready:
            return
        me = await self._api.call("getMe", {}, User)
        status.withheld = "" if me.can_read_all_group_messages else PRIVACY_MODE
        self._moves.adopt(await self._intake.moves(updates.CHANNEL))
        self.offset = await self._intake.offset(updates.CHANNEL, self._api.bot_id)
        self._bot = Bot(self._api.bot_id, me.username)
        self.ready = True

    async def store(self, received: list[JsonValue]) -> None:
        """Store updates, after the moves of groups: what they say comes from the new group.

        Raises:
            SendError: none of them has a number.
        """
        for old, new in filter(None, map(updates.moved, received)):
            self._moves.learn(old, new)
        await self._moves.record(self._intake, updates.CHANNEL, self._api.bot_id)
        if received:
            await self._accept(received)

    async def _accept(self, received: list[JsonValue]) -> None:
        numbered = [
            (number, update)
            for update in received
            if (number := updates.update_number(update)) is not None
        ]
        if len(numbered) < len(received):
            log.warning("telegram_update_without_number", count=len(received) - len(numbered))
        if not numbered:
            raise SendError(
                "telegram getUpdates: the updates have no update_id; check TELEGRAM_API_URL",
                SendOutcome.UNKNOWN,
            )
        numbered.sort(key=itemgetter(0))  # one that comes again may stand before older ones
        # It may fall: after a quiet week Telegram's numbers start anywhere.
        offset = numbered[-1][0] + 1
        messages = [updates.inbound(update, number, self._bot) for number, update in numbered]
        answers = await self._intake.accept(messages, offset)
        self.offset = offset
        if answers:
            await self._answer_presses(answers)

    async def _answer_presses(self, answers: Mapping[str, str]) -> None:
        """Show each person who pressed a button what came of it; nothing depends on it."""
        with anyio.move_on_after(ANSWER_SECONDS):
            async with anyio.create_task_group() as tasks:
                for message_id, text in answers.items():
                    tasks.start_soon(self._answer_press, message_id, text)

    async def _answer_press(self, message_id: str, text: str) -> None:
        params: JsonObject = {
            "callback_query_id": message_id.removeprefix(updates.PRESSED),
            "text": formatting.plain(text)[:MAX_ANSWER],
        }
        try:
            await self._api.call("answerCallbackQuery", params, object)
        except BotApiError as error:
            log.debug("press_not_answered", problem=str(error))
