"""Show the page how answers grow in the chats that are open there.

Only the newest text of each turn counts: it replaces the one before, and at most ten are sent a
second.
"""

import asyncio
from collections.abc import Callable, Collection
from contextlib import ExitStack
from functools import partial

from orchestrator.chat_activity import ActivityEvent, AnswerGrew, ChatActivity
from orchestrator.extensions.page.daemon_side.page_protocol import ChatView
from orchestrator.loop_bound import LoopBound

PAUSE_SECONDS = 0.1  # between two of one turn
MAX_CHATS = 64


class GrowingAnswers(LoopBound):
    """Watches chats for the page; ``show`` sends text to the page."""

    def __init__(self, activity: ChatActivity, show: Callable[[ChatView], None]) -> None:
        self._activity = activity
        self._show = show
        self._watched: dict[str, ExitStack] = {}
        self._newest: dict[str, ChatView] = {}  # by turn, and not sent yet
        self._timer: asyncio.TimerHandle | None = None

    def watch_chats(self, keys: Collection[str]) -> None:
        """Watch these chats, and no others."""
        wanted = set(sorted(keys)[:MAX_CHATS])
        for key in self._watched.keys() - wanted:
            self._watched.pop(key).close()
        for key in wanted - self._watched.keys():
            held = self._watched[key] = ExitStack()
            held.enter_context(self._activity.watch_chat(key, partial(self._record_growth, key)))

    def _record_growth(self, key: str, happening: ActivityEvent) -> None:
        if isinstance(happening, AnswerGrew):
            turn_id = happening.turn_id
            self._newest[turn_id] = ChatView(key=key, turn_id=turn_id, text=happening.text)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(
                    PAUSE_SECONDS, self._send_newest
                )

    def _send_newest(self) -> None:
        self._timer = None
        newest, self._newest = self._newest, {}
        for view in newest.values():
            self._show(view)
