"""The state of the fake Bot API: updates, chats and methods, with Telegram's own checks."""

import html
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable

import anyio

from orchestrator.selftest.loopback import ForeignJson
from orchestrator.wakeup import Wakeup

LIMIT = 4096  # UTF-16 code units, after entity parsing
_TAGS = {"b", "i", "u", "s", "code", "pre", "a", "blockquote"}
_TAG = re.compile(r'<(/?)([a-z]+)((?:\s[a-z]+="[^"<>]*")*)>')
_TOPIC = "message_thread_id"


class RefusedError(Exception):
    """The Bot API refuses a request; ``retry_after`` is in seconds."""

    def __init__(self, code: int, description: str, retry_after: int = 0) -> None:
        super().__init__(description)
        self.code = code
        self.parameters = {"retry_after": retry_after} if retry_after else None


def parse_html(text: str) -> str:
    """Return the text that a reader of Telegram HTML sees.

    Raises:
        RefusedError: a tag is unknown or not closed, or the text has a stray ``<``.
    """
    open_tags: list[str] = []
    for found in re.finditer("<[^>]*>?", text):
        tag = _TAG.fullmatch(found[0])
        if not tag or tag[2] not in _TAGS:
            raise RefusedError(400, f"Bad Request: can't parse entities: {found[0]}")
        if not tag[1]:
            open_tags.append(tag[2])
        elif not open_tags or open_tags.pop() != tag[2]:
            raise RefusedError(400, "Bad Request: can't parse entities: unmatched end tag")
    if open_tags:
        raise RefusedError(400, f"Bad Request: can't parse entities: no end tag for {open_tags}")
    return html.unescape(_TAG.sub("", text))


class BotWorld:
    """One bot's chats and its queue of updates; only a higher offset confirms updates."""

    def __init__(self, token: str, username: str) -> None:
        self.bot = {
            "id": int(token.partition(":")[0]),
            "is_bot": True,
            "first_name": "Test",
            "username": username,
        }
        self.webhook = ""
        self._next_update_id = 1000
        self._next_message_id = 1
        self._updates: dict[int, ForeignJson] = {}
        self._pending: list[ForeignJson] = []
        self._again: list[ForeignJson] = []
        self._visible: dict[int, dict[int, str]] = defaultdict(dict)
        self.changes = Wakeup()
        self.files: dict[str, bytes] = {}  # by file_id
        self._methods: dict[str, Callable[[ForeignJson], Awaitable[object]]] = {
            "getMe": self._get_me,
            "getWebhookInfo": self._get_webhook_info,
            "deleteWebhook": self._delete_webhook,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
            "editMessageText": self._edit_message_text,
            "sendChatAction": self._send_chat_action,
            "getFile": self._get_file,
        }

    def push(self, update: ForeignJson) -> int:
        """Queue an update and return its number: the next one unless it has one."""
        update = {"update_id": self._next_update_id, **update}
        number = int(update["update_id"])
        self._next_update_id = max(self._next_update_id, number + 1)
        self._updates[number] = update
        self._pending.append(update)
        self.changes.wake()
        return number

    def user_says(self, chat_id: int, text: str | None, **fields: object) -> int:
        """Write in a chat as a person and return the update's number.

        ``fields`` go into the message. A negative chat is a group, in which person 1 writes unless
        ``fields`` has ``from``.
        """
        return self.push({"message": self._message(chat_id, text, fields)})

    def deliver_again(self, number: int) -> None:
        """Repeat an update in the next answer, even if it is confirmed already."""
        self._again.append(self._updates[number])
        self.changes.wake()

    def deliver_twice(self, number: int) -> None:
        """Repeat an update in each answer, until it is confirmed."""
        self._pending += [update for update in self._pending if update["update_id"] == number][:1]
        self.changes.wake()

    def texts(self, chat_id: int) -> list[str]:
        """Return the bot's present messages in a chat, oldest first."""
        return list(self._visible[chat_id].values())

    @property
    def unconfirmed(self) -> list[int]:
        return [update["update_id"] for update in self._pending]

    async def change(self) -> None:
        """Wait until anything changes in the chats or the queue."""
        await self.changes.changed.wait()

    def _message(self, chat_id: int, text: str | None, fields: ForeignJson) -> ForeignJson:
        message: ForeignJson = {
            "message_id": self._next_message_id,
            "date": 1_800_000_000,
            "chat": {"id": chat_id, "type": "private" if chat_id > 0 else "supergroup"},
            "from": {"id": max(chat_id, 1), "is_bot": False, "first_name": "Ada"},
        }
        self._next_message_id += 1
        if text is not None:
            message["text"] = text
        if _TOPIC in fields:
            message["is_topic_message"] = True
        return message | fields

    async def _get_me(self, _params: ForeignJson) -> object:
        return self.bot

    async def _get_webhook_info(self, _params: ForeignJson) -> object:
        return {"url": self.webhook, "pending_update_count": len(self._pending)}

    async def _delete_webhook(self, params: ForeignJson) -> object:
        self.webhook = ""
        if params.get("drop_pending_updates"):
            self._pending.clear()
        return True

    async def _get_updates(self, params: ForeignJson) -> object:
        if self.webhook:
            raise RefusedError(409, "Conflict: can't use getUpdates while webhook is active")
        offset = params.get("offset", 0)
        self._pending = [update for update in self._pending if update["update_id"] >= offset]
        self.changes.wake()
        with anyio.move_on_after(params.get("timeout", 0)):
            while not (self._pending or self._again):
                await self.change()
        again, self._again = self._again, []
        return [*again, *self._pending][: params.get("limit", 100)]

    async def _send_message(self, params: ForeignJson) -> object:
        text = self._checked(params)
        message_id, self._next_message_id = self._next_message_id, self._next_message_id + 1
        return self._show(int(params["chat_id"]), message_id, text)

    async def _edit_message_text(self, params: ForeignJson) -> object:
        chat, message_id = self._visible[int(params["chat_id"])], int(params["message_id"])
        if message_id not in chat:
            raise RefusedError(400, "Bad Request: message to edit not found")
        text = self._checked(params)
        if chat[message_id] == text:
            raise RefusedError(400, "Bad Request: message is not modified: nothing changed")
        return self._show(int(params["chat_id"]), message_id, text)

    async def _send_chat_action(self, params: ForeignJson) -> object:
        if not params.get("action"):
            raise RefusedError(400, "Bad Request: wrong parameter action in request")
        return True

    async def _get_file(self, params: ForeignJson) -> object:
        if params.get("file_id") not in self.files:
            raise RefusedError(400, "Bad Request: invalid file_id")
        return {"file_id": params["file_id"], "file_path": f"files/{params['file_id']}"}

    def _checked(self, params: ForeignJson) -> str:
        text = str(params.get("text", ""))
        if params.get("parse_mode") == "HTML":
            text = parse_html(text)
        if not text.strip():
            raise RefusedError(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > LIMIT:
            raise RefusedError(400, "Bad Request: message is too long")
        return text.strip()

    def _show(self, chat_id: int, message_id: int, text: str) -> ForeignJson:
        self._visible[chat_id][message_id] = text
        self.changes.wake()
        return self._message(chat_id, text, {"message_id": message_id, "from": self.bot})
