"""The names of chats and turns that people write.

A chat is ``telegram:555``, a thread in it ``telegram:-100123/7``, a turn the end of its id. The
journal's own key of a chat also names the bot: ``telegram/42/555/``. A channel has one bot, so
people need not write it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

TURN = 8  # characters
# Queues of tasks, subagents and API conversations, whose names begin so, are not chats.
_KEY = re.compile(r"(?!task/|subagent/|api/)([^/:\s]+)/([^/]*)/(.+)/([^/]*)", re.DOTALL)
_NAME = re.compile(r"([^/:\s]+)[:\s]\s*(\S.*)", re.DOTALL)
_THREAD = re.compile(r"(-?\d+)/(\d+)")  # only platforms whose ids are numbers have threads


@dataclass(frozen=True)
class ChatName:
    """A chat of a channel, or a thread in it."""

    channel: str
    chat_id: str
    thread_id: str = ""

    def __str__(self) -> str:
        thread = f"/{self.thread_id}" if self.thread_id else ""
        return f"{self.channel}:{self.chat_id}{thread}"

    @classmethod
    def parse(cls, text: str) -> "ChatName":
        """Parse a name that a person wrote; ``telegram 555`` and a journal key are accepted, too.

        Raises:
            ValueError: the text is not a name; the message shows the correct form.
        """
        key = _KEY.fullmatch(text)
        if key is not None:
            return cls(key[1], key[3], key[4])
        name = _NAME.fullmatch(text.strip())
        if name is None:
            raise ValueError(
                f"{text!r} is not a chat; write its channel and id, such as telegram:123"
            )
        thread = _THREAD.fullmatch(name[2])
        return cls(name[1], name[2]) if thread is None else cls(name[1], thread[1], thread[2])


def format_turn_name(turn_id: str) -> str:
    """Return the name of a turn: the end of its id, as ids of one day begin alike."""
    return turn_id[-TURN:]


@lru_cache(maxsize=512)
def format_chat_name(key: str) -> str:
    """Return the name of the chat with this journal key.

    Queues of tasks, subagents and API conversations are not chats, and keep their names.
    """
    found = _KEY.fullmatch(key)
    return key if found is None else str(ChatName(found[1], found[3], found[4]))
