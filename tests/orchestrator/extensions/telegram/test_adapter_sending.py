"""Sending, editing and typing over a Bot API on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from fakes.bot_api import BLOCKED, LOST_ANSWER, FakeBotApi, Fault, too_many

from orchestrator.channel_api import Choice, OutboundFile, OutboundPart, SendError, SendOutcome
from orchestrator.extensions.telegram.adapter import Telegram
from orchestrator.extensions.telegram.bot_api import BotApi

TOKEN = "123456:ABC-DEF"
PNG = b"\x89PNG\r\n\x1a\n-a picture"
UNPARSED = Fault(400, "Bad Request: can't parse entities: Unsupported start tag")


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[FakeBotApi, Telegram]]:
    """A server and an adapter that has not begun to listen: delivery does not wait for that."""
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        yield server, Telegram(api)


async def test_a_part_is_shown_formatted_and_without_link_previews() -> None:
    """Markdown arrives as Telegram's HTML."""
    async with connected() as (server, telegram):
        await telegram.send(OutboundPart("7", "**a** < b https://x.y"))
        assert await server.reply_in(7) == "a < b https://x.y"
        params = server.calls("sendMessage")[0].params
    assert params["parse_mode"] == "HTML"
    assert params["link_preview_options"] == {"is_disabled": True}
    assert telegram.bot_id == "123456"


async def test_choices_are_buttons_until_the_message_is_edited() -> None:
    """An edit without choices takes them away, formatted or not."""
    asked = OutboundPart("7", "`a`?", choices=(Choice("Yes", "y:1"), Choice("No", "n:1")))
    async with connected() as (server, telegram):
        message_id = await telegram.send(asked)
        assert server.list_buttons(7) == [("Yes", "y:1"), ("No", "n:1")]
        await telegram.edit(OutboundPart("7", "`a`: yes"), message_id)
        assert (server.list_buttons(7), server.list_texts(7)) == ([], ["a: yes"])
        server.break_next("sendMessage", UNPARSED)
        await telegram.send(asked)
        assert len(server.list_buttons(7)) == 2


async def test_a_reply_is_marked_in_groups_alone() -> None:
    """In a private chat everything is a reply."""
    async with connected() as (server, telegram):
        await telegram.send(OutboundPart("-9", "hi", thread_id="4", reply_to="3"))
        await telegram.send(OutboundPart("7", "hi", reply_to="3"))
        in_group, private = (call.params for call in server.calls("sendMessage"))
    assert in_group["message_thread_id"] == 4
    assert in_group["reply_parameters"] == {"message_id": 3, "allow_sending_without_reply": True}
    assert "reply_parameters" not in private


@pytest.mark.parametrize("text", ["#", "2 < 3"])
async def test_what_cannot_be_formatted_is_sent_as_it_is(text: str) -> None:
    """Nothing is dropped for its formatting (F51)."""
    async with connected() as (server, telegram):
        server.break_next("sendMessage", *([UNPARSED] if text != "#" else []))
        message_id = await telegram.send(OutboundPart("7", text))
        assert server.list_texts(7) == [text]
        server.break_next("editMessageText", UNPARSED)
        await telegram.edit(OutboundPart("7", f"{text} x"), message_id)
        assert server.list_texts(7) == [f"{text} x"]


async def test_plain_text_is_not_formatted() -> None:
    """Marks stay as they were written."""
    async with connected() as (server, telegram):
        await telegram.send(OutboundPart("7", "**a** <b>", markdown=False))
        assert server.list_texts(7) == ["**a** <b>"]


async def test_an_edit_that_changes_nothing_succeeds() -> None:
    """Repeating an edit whose answer was lost is the repair."""
    async with connected() as (server, telegram):
        message_id = await telegram.send(OutboundPart("7", "…"))
        server.break_next("editMessageText", LOST_ANSWER)
        with pytest.raises(SendError) as caught:
            await telegram.edit(OutboundPart("7", "done"), message_id)
        assert caught.value.outcome is SendOutcome.UNKNOWN
        await telegram.edit(OutboundPart("7", "done"), message_id)
        assert await server.reply_in(7) == "done"


async def test_a_deleted_placeholder_is_gone() -> None:
    """The caller sends a new message instead (F58)."""
    async with connected() as (server, telegram):
        message_id = await telegram.send(OutboundPart("7", "…"))
        server.user_deletes(7, int(message_id))
        with pytest.raises(SendError) as caught:
            await telegram.edit(OutboundPart("7", "done"), message_id)
    assert caught.value.outcome is SendOutcome.GONE


async def test_a_blocked_bot_is_told_apart() -> None:
    """The message will never arrive (F53)."""
    async with connected() as (server, telegram):
        server.break_next("sendMessage", BLOCKED)
        with pytest.raises(SendError) as caught:
            await telegram.send(OutboundPart("7", "hi"))
    assert caught.value.outcome is SendOutcome.PERMANENT


async def test_typing_is_shown_and_its_failure_is_told() -> None:
    """A refusal may ask to send nothing for a while."""
    async with connected() as (server, telegram):
        server.break_next("sendChatAction", BLOCKED)
        with pytest.raises(SendError):
            await telegram.show_typing("7", None)
        await telegram.show_typing("-9", "4")
        assert [call.status for call in server.calls("sendChatAction")] == [403, 200]


async def test_every_part_of_a_long_reply_is_accepted() -> None:
    """The adapter cuts as Telegram counts."""
    async with connected() as (server, telegram):
        for part in telegram.split("```py\n" + "x = '👍' < 1\n" * 900 + "```\n" + "word " * 2000):
            await telegram.send(OutboundPart("7", part.text, rendered=part.rendered))
        assert len(server.list_texts(7)) >= 4
        assert {call.status for call in server.calls("sendMessage")} == {200}


async def test_a_cut_part_is_sent_as_its_plain_text_if_its_markup_is_refused() -> None:
    """What a reader sees then has no stray marks either."""
    async with connected() as (server, telegram):
        first, second = telegram.split("**" + "bold " * 1000 + "end**")
        server.break_next("sendMessage", UNPARSED)
        await telegram.send(OutboundPart("7", first.text, rendered=first.rendered))
        await telegram.send(OutboundPart("7", second.text, rendered=second.rendered))
        assert server.list_texts(7) == [first.text, second.text]
        sent = [call.params["text"] for call in server.calls("sendMessage")]
    assert sent == [first.rendered, first.text, second.rendered]
    assert set(" ".join(server.list_texts(7)).split()) == {"bold", "end"}


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        (OutboundFile("a.png", "image/png", PNG), "photo"),
        (OutboundFile('sum "of" Ä\r\n.csv', "text/csv", b"1,2\r\n--\r\n\0"), "document"),
        (OutboundFile("large.png", "image/png", PNG + bytes(10_000_000)), "document"),
        (OutboundFile("broken.png", "image/png", b"no picture"), "document"),
        (OutboundFile("a.gif", "image/gif", b"GIF89a"), "document"),
    ],
)
async def test_a_file_arrives_as_it_is(file: OutboundFile, kind: str) -> None:
    """A picture that Telegram takes for one is shown as one; with its formatted caption."""
    async with connected() as (server, telegram):
        part = OutboundPart("-7", "**the** sums", thread_id="4", reply_to="3", file=file)
        number = await telegram.send(part)
        name = " ".join(file.name.split())
        assert server.list_texts(-7) == [f"[{kind} {name}] the sums"]
        assert server.sent_files == [(-7, kind, name, file.data)]
        assert number.isdecimal()
        (call,) = server.calls("sendPhoto" if kind == "photo" else "sendDocument")
    assert call.params["message_thread_id"] == 4
    assert call.params["reply_parameters"]["message_id"] == 3
    assert "link_preview_options" not in call.params


async def test_a_file_fails_as_a_message_does() -> None:
    """The same is known after the same failures; bad formatting alone is sent again."""
    part = OutboundPart("7", "`a`", file=OutboundFile("a.csv", "text/csv", b"1"))
    faults = (BLOCKED, SendOutcome.PERMANENT), (too_many(3), SendOutcome.NOT_SENT)
    async with connected() as (server, telegram):
        for fault, outcome in (*faults, (LOST_ANSWER, SendOutcome.UNKNOWN)):
            server.break_next("sendDocument", fault)
            with pytest.raises(SendError) as caught:
                await telegram.send(part)
            assert caught.value.outcome is outcome
        server.break_next("sendDocument", UNPARSED)
        await telegram.send(part)
        lost, plain = server.list_texts(7)
    assert (lost, plain) == ("[document a.csv] a", "[document a.csv] `a`")


async def test_a_bot_by_which_another_node_receives_sends_with_the_current_token() -> None:
    """It has not begun to listen; a bot that was switched off sends nothing."""
    async with connected() as (server, telegram), BotApi("654321:DEF-ABC", server.url) as api:
        await telegram.send(OutboundPart("7", "hi"))
        telegram.find_api = lambda: api
        with pytest.raises(SendError):  # the server knows no such bot
            await telegram.send(OutboundPart("7", "again"))
        assert telegram.bot_id == "654321"
        telegram.find_api = lambda: None
        with pytest.raises(SendError, match="is off"):
            await telegram.send(OutboundPart("7", "again"))
