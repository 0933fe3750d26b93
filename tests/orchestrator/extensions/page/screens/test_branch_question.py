"""The question before a chat is forked or rewound."""

from pathlib import Path

import pytest
from fakes.page import page_bench
from fakes.screens import html, request
from fakes.trials import ended_with_prompt
from pydantic import BaseModel, JsonValue

from orchestrator.extensions.page.reads.branch_points import TurnPoint, find_branch_point
from orchestrator.extensions.page.screen_request import Viewer
from orchestrator.extensions.page.screens import branch_question
from orchestrator.extensions.page.screens.branch_question import (
    BRANCHES,
    FORK,
    REWIND,
    BranchedChat,
    can_branch_chat,
)
from orchestrator.journal.turns import turns
from thinker.protocol.peer import FAILED, RpcError


@pytest.mark.parametrize(
    ("role", "key", "allowed"),
    [
        ("chat", "web/local/ann/a1/", True),
        ("chat", "web/local/anna/a1/", False),
        ("chat", "telegram/1/7/", False),
        ("operator", "telegram/1/7/", True),
        ("approver", "telegram/1/7/", False),
        ("viewer", "web/local/ann/a1/", False),
    ],
)
def test_people_branch_their_own_chats(role: str, key: str, *, allowed: bool) -> None:
    """And operators all of them, as the daemon decides in the end."""
    assert can_branch_chat(Viewer("ann", role), key) is allowed


async def test_question_says_what_stays(tmp_path: Path) -> None:
    """The later answers, what was done, and that files are not taken back."""
    async with page_bench(tmp_path) as bench:
        await bench.store.transact(turns.boot, 0)
        await bench.store.transact(ended_with_prompt)
        found = await bench.store.read(find_branch_point, "t1")
        assert found is not None
        point = TurnPoint(found.turn, 7, [("send_mail", 2), ("pay", 1)])
        fork = html(branch_question.render_question(request(), point, BRANCHES["fork"]).content)
        assert "7 later answers with what was asked: they stay in the old chat." in fork
        assert "What was done since stays done: send_mail (2 times), pay." in fork
        assert "<script" not in fork
        rewind = html(branch_question.render_question(request(), point, BRANCHES["rewind"]).content)
        assert "they stay in this chat" in rewind
        assert "is withdrawn" in rewind
        assert "Files are not taken back." in rewind


async def test_forked_chat_is_opened(tmp_path: Path) -> None:
    """A refusal is told where it was asked; a rewound chat is shown again."""
    async with page_bench(tmp_path) as bench:
        await bench.store.transact(turns.boot, 0)
        await bench.store.transact(ended_with_prompt)

        async def fork(params: JsonValue) -> BaseModel:
            del params
            return BranchedChat(chat="web:ann/fork-1", url="/chats/web/local/ann/fork-1/")

        async def rewind(params: JsonValue) -> BaseModel:
            raise RpcError(FAILED, f"I am still working here {params is None}")

        bench.answers |= {FORK: fork, REWIND: rewind}
        person = await bench.login()
        done = await person.post("/fork/t1", {})
        assert done.headers["location"] == "/chats/web/local/ann/fork-1/"
        assert ("web:ann", FORK, {"turn": "t1"}) in bench.acts
        assert "I am still working here" in (await person.post("/rewind/t1", {})).text

        async def elsewhere(params: JsonValue) -> BaseModel:
            del params
            return BranchedChat(chat="telegram:7", url="https://evil.example/")

        bench.answers[REWIND] = elsewhere
        done = await person.post("/rewind/t1", {"once": "form-0002"})
        assert done.headers["location"].startswith("/chats/telegram/")


async def test_chats_of_others_have_no_points(tmp_path: Path) -> None:
    """They are not even said to exist."""
    async with page_bench(tmp_path) as bench:
        await bench.store.transact(turns.boot, 0)
        await bench.store.transact(ended_with_prompt)
        person = await bench.login("chat")
        for turn in ("t1", "t9"):
            assert "belongs to a chat that is not yours" in (await person.get(f"/fork/{turn}")).text
        await person.post("/fork/t1", {})
        assert FORK not in [method for _, method, _ in bench.acts]
