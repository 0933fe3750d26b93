"""Answers that grow while someone looks."""

import asyncio

from fakes.time_limit import time_limit

from orchestrator.chat_activity import AnswerGrew, ChatActivity
from orchestrator.extensions.page.daemon_side.growing_answers import GrowingAnswers
from orchestrator.extensions.page.daemon_side.page_protocol import ChatView


async def test_newest_text_alone_is_sent_and_of_watched_chats_only() -> None:
    """Whatever came between two sendings is skipped."""
    activity, seen, came = ChatActivity(), list[ChatView](), asyncio.Event()

    def show(view: ChatView) -> None:
        seen.append(view)
        came.set()

    growing = GrowingAnswers(activity, show)
    growing.watch_chats(["a", "b"])
    for text in ("x", "xy", "xyz"):
        activity.tell_watchers("a", AnswerGrew("t1", text))
    activity.tell_watchers("c", AnswerGrew("t2", "not looked at"))
    with time_limit():
        await came.wait()
    assert [(view.key, view.turn_id, view.text) for view in seen] == [("a", "t1", "xyz")]
    growing.watch_chats(["b"])
    assert not activity.is_watched("a")
    assert activity.is_watched("b")
