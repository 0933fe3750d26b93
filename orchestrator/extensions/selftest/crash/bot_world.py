"""The state of the fake Bot API: updates, chats and methods, with Telegram's own checks."""

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial

import anyio

from orchestrator.testing.loopback import ForeignJson
from orchestrator.testing.sent_html import read_reply_html
from orchestrator.wakeup import Wakeup

LIMIT = 4096  # UTF-16 code units, after entity parsing
MAX_CAPTION = 1024  # UTF-16 code units, after entity parsing
MAX_PHOTO = 10_000_000  # bytes
MAX_PRESS_ANSWER = 200  # characters
MAX_DATA = 64  # bytes of a button's data
MAX_DESCRIPTION = 256  # characters of a command's description
CONFLICT = (
    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is"
    " running"
)
_COMMAND = re.compile("[a-z0-9_]{1,32}")
_TOPIC = "message_thread_id"


class RefusedError(Exception):
    """The Bot API refuses a request; ``retry_after`` is in seconds."""

    def __init__(self, code: int, description: str, retry_after: int = 0) -> None:
        super().__init__(description)
        self.code = code
        self.parameters = {"retry_after": retry_after} if retry_after else None


def _read_markup(text: str) -> str:
    try:
        return read_reply_html(text)
    except ValueError as error:
        raise RefusedError(400, f"Bad Request: can't parse entities: {error}") from error


def _parse_keyboard(params: ForeignJson) -> list[tuple[str, str]]:
    """Return the inline buttons of a message as Telegram accepts them: pairs of label and data."""
    rows = (params.get("reply_markup") or {}).get("inline_keyboard", [])
    found = [
        (str(key.get("text", "")), str(key.get("callback_data", ""))) for row in rows for key in row
    ]
    for label, data in found:
        if not label.strip():
            raise RefusedError(400, "Bad Request: text buttons must be non-empty")
        if not 0 < len(data.encode()) <= MAX_DATA:
            raise RefusedError(400, "Bad Request: BUTTON_DATA_INVALID")
    return found


class BotWorld:
    """One bot's chats and queue of updates; only a higher offset confirms updates."""

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
        self.sent_files: list[tuple[int, str, str, bytes]] = []  # chat, kind, name, content
        self._buttons: dict[tuple[int, int], list[tuple[str, str]]] = {}  # by chat and message
        self._waiting_presses: set[str] = set()
        self.press_answers: list[tuple[str, str]] = []  # id of the press, text
        self.menus: dict[str, list[ForeignJson]] = {}  # commands, by the type of their scope
        self._kinds: list[str] = ["message", "edited_message"]
        self._polls = 0
        self._methods: dict[str, Callable[[ForeignJson], Awaitable[object]]] = {
            "getMe": self._get_me,
            "getWebhookInfo": self._get_webhook_info,
            "deleteWebhook": self._delete_webhook,
            "getMyCommands": self._get_my_commands,
            "setMyCommands": self._set_my_commands,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
            "sendPhoto": partial(self._send_file, "photo"),
            "sendDocument": partial(self._send_file, "document"),
            "sendVoice": partial(self._send_file, "voice"),
            "sendAudio": partial(self._send_file, "audio"),
            "editMessageText": self._edit_message_text,
            "deleteMessage": self._delete_message,
            "sendChatAction": self._send_chat_action,
            "getFile": self._get_file,
            "answerCallbackQuery": self._answer_callback_query,
        }

    def queue_update(self, update: ForeignJson) -> int:
        """Queue an update and return its number: its own, or the next one."""
        update = {"update_id": self._next_update_id, **update}
        number = int(update["update_id"])
        self._next_update_id = max(self._next_update_id, number + 1)
        self._updates[number] = update
        self._pending.append(update)
        self.changes.wake()
        return number

    def send_user_message(self, chat_id: int, text: str | None, **fields: object) -> int:
        """Write in a chat as a person and return the update's number.

        ``fields`` go into the message. A negative chat is a group, in which person 1 writes unless
        ``fields`` has ``from``.
        """
        return self.queue_update({"message": self._build_message(chat_id, text, fields)})

    def edit_user_message(self, number: int, text: str, date: int) -> int:
        """Give the message of an update new words, as its sender; return the update's number.

        ``date`` is in seconds since the epoch.
        """
        message = self._updates[number]["message"]
        return self.queue_update({"edited_message": {**message, "text": text, "edit_date": date}})

    def list_buttons(self, chat_id: int, message_id: int | None = None) -> list[tuple[str, str]]:
        """Return labels and data of a message's buttons; of the chat's last ones by default."""
        shown = [key for key, found in self._buttons.items() if found and key[0] == chat_id]
        key = max(shown, default=(chat_id, 0)) if message_id is None else (chat_id, message_id)
        return self._buttons.get(key, [])

    def press_button(self, chat_id: int, data: str, message_id: int, person: int = 0) -> int:
        """Press a button as a person (default: the one of the chat) and return the update's number.

        A client may send any data. A bot that does not ask for presses gets none.
        """
        press_id = f"77{self._next_update_id}"
        chat = {"id": chat_id, "type": "private" if chat_id > 0 else "supergroup"}
        self._waiting_presses.add(press_id)
        sender = {"id": person or max(chat_id, 1), "is_bot": False, "first_name": "Ada"}
        message = {"message_id": message_id, "date": 1_800_000_000, "chat": chat, "from": self.bot}
        press = {"id": press_id, "from": sender, "message": message, "data": data}
        return self.queue_update({"callback_query": {**press, "chat_instance": "1"}})

    def deliver_again(self, number: int) -> None:
        """Repeat an update in the next answer, even if already confirmed."""
        self._again.append(self._updates[number])
        self.changes.wake()

    def deliver_twice(self, number: int) -> None:
        """Repeat an update in each answer until its confirmation."""
        self._pending += [update for update in self._pending if update["update_id"] == number][:1]
        self.changes.wake()

    def list_texts(self, chat_id: int) -> list[str]:
        """Return the bot's present messages in a chat, oldest first."""
        return list(self._visible[chat_id].values())

    @property
    def unconfirmed_updates(self) -> list[int]:
        return [update["update_id"] for update in self._pending]

    async def wait_for_change(self) -> None:
        """Wait until anything changes in the chats or the queue."""
        await self.changes.changed.wait()

    def _build_message(self, chat_id: int, text: str | None, fields: ForeignJson) -> ForeignJson:
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

    async def _get_my_commands(self, params: ForeignJson) -> object:
        return self.menus.get(params.get("scope", {}).get("type", "default"), [])

    async def _set_my_commands(self, params: ForeignJson) -> object:
        for item in params["commands"]:
            if not _COMMAND.fullmatch(item["command"]):
                raise RefusedError(400, "Bad Request: BOT_COMMAND_INVALID")
            if not 0 < len(item["description"]) <= MAX_DESCRIPTION:
                raise RefusedError(400, "Bad Request: BOT_COMMAND_DESCRIPTION_INVALID")
        self.menus[params.get("scope", {}).get("type", "default")] = params["commands"]
        self.changes.wake()
        return True

    async def _get_updates(self, params: ForeignJson) -> object:
        if self.webhook:
            raise RefusedError(409, "Conflict: can't use getUpdates while webhook is active")
        offset = params.get("offset", 0)
        self._kinds = params.get("allowed_updates") or self._kinds
        self._pending = [update for update in self._pending if update["update_id"] >= offset]
        self._polls += 1
        own = self._polls
        self.changes.wake()
        with anyio.move_on_after(params.get("timeout", 0)):
            while not (self._pending or self._again or self._is_ended(own) or self.webhook):
                await self.wait_for_change()
        if self._is_ended(own):
            raise RefusedError(409, CONFLICT)
        if self.webhook:
            raise RefusedError(409, "Conflict: terminated by setWebhook request")
        again, self._again = self._again, []
        found = [*again, *self._pending]
        return [update for update in found if self._is_wanted(update)][: params.get("limit", 100)]

    def _is_ended(self, poll: int) -> bool:
        """Return whether a later request for updates has ended one."""
        return poll < self._polls

    def _is_wanted(self, update: ForeignJson) -> bool:
        return "callback_query" not in update or "callback_query" in self._kinds

    async def _answer_callback_query(self, params: ForeignJson) -> object:
        press_id, text = str(params.get("callback_query_id", "")), str(params.get("text", ""))
        if press_id not in self._waiting_presses:
            raise RefusedError(400, "Bad Request: query is too old or query ID is invalid")
        if len(text) > MAX_PRESS_ANSWER:
            raise RefusedError(400, "Bad Request: MESSAGE_TOO_LONG")
        self._waiting_presses.remove(press_id)
        self.press_answers.append((press_id, text))
        self.changes.wake()
        return True

    async def _send_message(self, params: ForeignJson) -> object:
        text = self._validate_text(params)
        buttons = _parse_keyboard(params)
        message_id, self._next_message_id = self._next_message_id, self._next_message_id + 1
        self._buttons[int(params["chat_id"]), message_id] = buttons
        return self._show_message(int(params["chat_id"]), message_id, text)

    async def _send_file(self, kind: str, params: ForeignJson) -> object:
        """Show a file as its name and its caption."""
        name, content = params.get(kind) or ("", b"")
        if not content:
            raise RefusedError(400, f"Bad Request: there is no {kind} in the request")
        if kind == "photo" and not content.startswith((b"\x89PNG", b"\xff\xd8\xff", b"RIFF")):
            raise RefusedError(400, "Bad Request: IMAGE_PROCESS_FAILED")
        if kind == "photo" and len(content) > MAX_PHOTO:
            raise RefusedError(400, "Bad Request: file is too big")
        caption = str(params.get("caption", ""))
        if params.get("parse_mode") == "HTML":
            caption = _read_markup(caption)
        if len(caption.encode("utf-16-le")) // 2 > MAX_CAPTION:
            raise RefusedError(400, "Bad Request: message caption is too long")
        message_id, self._next_message_id = self._next_message_id, self._next_message_id + 1
        chat_id = int(params["chat_id"])
        self.sent_files.append((chat_id, kind, name, content))
        return self._show_message(chat_id, message_id, f"[{kind} {name}] {caption}".strip())

    async def _edit_message_text(self, params: ForeignJson) -> object:
        chat, message_id = self._visible[int(params["chat_id"])], int(params["message_id"])
        if message_id not in chat:
            raise RefusedError(400, "Bad Request: message to edit not found")
        text, buttons = self._validate_text(params), _parse_keyboard(params)
        before = (chat[message_id], self.list_buttons(int(params["chat_id"]), message_id))
        if before == (text, buttons):
            raise RefusedError(400, "Bad Request: message is not modified: nothing changed")
        self._buttons[int(params["chat_id"]), message_id] = buttons  # none removes them
        return self._show_message(int(params["chat_id"]), message_id, text)

    async def _delete_message(self, params: ForeignJson) -> object:
        chat, message_id = self._visible[int(params["chat_id"])], int(params["message_id"])
        if chat.pop(message_id, None) is None:
            raise RefusedError(400, "Bad Request: message to delete not found")
        self.changes.wake()
        return True

    async def _send_chat_action(self, params: ForeignJson) -> object:
        if not params.get("action"):
            raise RefusedError(400, "Bad Request: wrong parameter action in request")
        return True

    async def _get_file(self, params: ForeignJson) -> object:
        if params.get("file_id") not in self.files:
            raise RefusedError(400, "Bad Request: invalid file_id")
        return {"file_id": params["file_id"], "file_path": f"files/{params['file_id']}"}

    def _validate_text(self, params: ForeignJson) -> str:
        text = str(params.get("text", ""))
        if params.get("parse_mode") == "HTML":
            text = _read_markup(text)
        if not text.strip():
            raise RefusedError(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > LIMIT:
            raise RefusedError(400, "Bad Request: message is too long")
        return text.strip()

    def _show_message(self, chat_id: int, message_id: int, text: str) -> ForeignJson:
        self._visible[chat_id][message_id] = text
        self.changes.wake()
        return self._build_message(chat_id, text, {"message_id": message_id, "from": self.bot})
