"""The Telegram adapter against a Bot API on loopback: polling, storing, sending, failing."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest
from fakes.bot_api import CONFLICT, HANG, LOST_ANSWER, UNAUTHORIZED, FakeBotApi, Fault, too_many
from fakes.network import AnsweringNetwork, Asked, answered
from fakes.telegram_inbox import Clock, Inbox
from fakes.time_limit import LIMIT, time_limit

from orchestrator.channel_api import PRESS, OutboundPart, SendError
from orchestrator.extensions.telegram.adapter import Telegram
from orchestrator.extensions.telegram.bot_api import BotApi
from thinker.http.exchange import HttpAnswer

TOKEN = "123456:ABC-DEF"
MENTION = {"type": "mention", "offset": 0, "length": 9}


def adapter(api: BotApi, clock: Clock) -> Telegram:
    """An adapter whose waits take no time and have no jitter."""
    return Telegram(api, clock=clock, sleep=clock.sleep, chance=lambda: 0.0)


@asynccontextmanager
async def running(server: FakeBotApi, inbox: Inbox, clock: Clock) -> AsyncIterator[Telegram]:
    """A listening adapter."""
    async with (
        BotApi(TOKEN, server.url, poll_timeout=LIMIT) as api,
        anyio.create_task_group() as tasks,
    ):
        telegram = adapter(api, clock)
        tasks.start_soon(telegram.run, inbox)
        yield telegram
        tasks.cancel_scope.cancel()


async def test_an_update_is_confirmed_only_after_it_was_stored() -> None:
    """The offset of the next poll is the acknowledgement."""
    inbox, clock = Inbox(), Clock()
    async with FakeBotApi(TOKEN) as server, running(server, inbox, clock) as telegram:
        server.send_user_message(7, "hello")
        await server.confirmed()
        assert inbox.texts == ["hello"]
        assert inbox.next_offset == 1001
        assert (telegram.status.state, telegram.status.last_ok) == ("ok", clock.now)
    assert telegram.status.state == "stopped"


async def test_polling_names_the_kinds_it_wants_and_goes_on_at_the_stored_offset() -> None:
    """A server remembers the last list of kinds, so it is sent every time."""
    async with FakeBotApi(TOKEN) as server, running(server, Inbox(1001), Clock()):
        server.send_user_message(7, "old")
        number = server.send_user_message(7, "new")
        await server.called("getUpdates")
        server.send_user_message(7, "newer")
        await server.called("getUpdates", 2)
        params, later = (call.params for call in server.calls("getUpdates")[:2])
    assert params["offset"] == number
    assert params["allowed_updates"] == ["message", "edited_message", "callback_query"]
    assert (params["timeout"], params["limit"]) == (0, 100)
    assert (later["timeout"], later["offset"]) == (30, number + 1)


async def test_nothing_is_confirmed_while_storage_is_full_and_nothing_is_lost() -> None:
    """The channel says so, waits, and stores the message when there is room (F21)."""
    inbox, clock = Inbox(), Clock()
    inbox.full = True
    async with FakeBotApi(TOKEN) as server, running(server, inbox, clock) as telegram:
        number = server.send_user_message(7, "keep me")
        await server.called("getUpdates", 3)
        assert server.unconfirmed_updates == [number]
        assert "storage full" in telegram.status.detail
        assert telegram.status.state == "degraded"
        inbox.full = False
        await server.confirmed()
    assert inbox.texts == ["keep me"]
    assert clock.slept[:2] == [2, 4]


async def test_a_malformed_update_blocks_no_other() -> None:
    """It becomes a row of its own, and one without a number is passed over."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server:
        server.queue_update({"message": {"text": 5}})
        server.send_user_message(7, "fine")
        async with running(server, inbox, Clock()):
            await server.confirmed()
    assert [message.skip for message in inbox.stored] == ["unreadable", None]


async def test_numbers_that_jump_down_are_read_all_the_same() -> None:
    """After a quiet week Telegram's numbers start anywhere (F48)."""
    offsets: list[bytes] = []
    inbox = Inbox(900_000)

    def answer(asked: Asked) -> HttpAnswer:
        result: object = {"id": 123456, "username": "b", "url": ""}
        if asked.url.endswith("getUpdates"):
            offsets.append(asked.body)
            result = [{"update_id": 5, "message": None}] if len(offsets) == 1 else [{}]
        return answered({"ok": True, "result": result})

    async with (
        BotApi(TOKEN, network=AnsweringNetwork(answer)) as api,
        anyio.create_task_group() as tasks,
    ):
        clock = Clock()
        telegram = adapter(api, clock)
        tasks.start_soon(telegram.run, inbox)
        with time_limit():
            await clock.twice.wait()
        assert "have no update_id" in telegram.status.detail
        tasks.cancel_scope.cancel()
    assert inbox.next_offset == 6
    assert b'"offset":6' in offsets[1].replace(b" ", b"")


async def test_an_update_that_comes_again_is_handed_in_again() -> None:
    """Knowing it is the journal's task, which has the numbers."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server, running(server, inbox, Clock()):
        number = server.send_user_message(7, "once")
        await server.confirmed()
        server.deliver_again(number)
        await inbox.holds(2)
    assert {message.update_id for message in inbox.stored} == {number}


async def test_a_webhook_is_removed_and_its_updates_are_kept() -> None:
    """Polling and webhooks exclude each other; dropping would lose messages."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server:
        server.webhook = "https://elsewhere"
        server.send_user_message(7, "hi")
        async with running(server, inbox, Clock()):
            await server.confirmed()
            assert "drop_pending_updates" not in server.calls("deleteWebhook")[0].params
            server.webhook = "https://again"  # while we run
            server.send_user_message(7, "there")
            await server.confirmed()
    assert inbox.texts == ["hi", "there"]


async def test_a_server_without_webhooks_is_tolerated() -> None:
    """Foreign servers have the methods that matter."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server:
        server.break_next("getWebhookInfo", Fault(404, "Not Found"))
        async with running(server, inbox, Clock()):
            server.send_user_message(7, "hi")
            await server.confirmed()
    assert inbox.texts == ["hi"]


async def test_a_refused_token_says_what_to_set_and_is_tried_again() -> None:
    """The channel is degraded, and nothing else is (F54)."""
    clock = Clock()
    async with FakeBotApi(TOKEN) as server:
        server.break_next("getMe", UNAUTHORIZED, UNAUTHORIZED)
        async with running(server, Inbox(), clock) as telegram:
            await server.called("getMe", 2)
            assert telegram.status.detail == (
                "token refused; copy it from @BotFather to TELEGRAM_BOT_TOKEN in keys.env"
            )
            assert telegram.status.state == "degraded"
            server.send_user_message(7, "hi")
            await server.confirmed()
            assert telegram.status.state == "ok"
    assert clock.slept[:2] == [60, 60]


async def test_a_short_conflict_is_waited_out_and_a_long_one_is_reported() -> None:
    """After a restart the old poll lingers; after three minutes it is another program (F49)."""
    clock, states = Clock(), []
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.break_next("getUpdates", *[CONFLICT] * 6)
        telegram = adapter(api, clock)

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            states.append(telegram.status.state)

        telegram._sleep = sleep
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(telegram.run, Inbox())
            server.send_user_message(7, "hi")
            await server.confirmed()
            assert telegram.status.state == "ok"
            tasks.cancel_scope.cancel()
    assert clock.slept[:6] == [10, 20, 40, 60, 60, 60]
    assert states[:6] == ["starting"] * 5 + ["degraded"]


async def test_two_programs_that_take_turns_are_told() -> None:
    """Each is answered now and then; the channel says so until the other one has stopped."""
    clock, said = Clock(), list[tuple[str, str]]()
    faults = (Fault(), CONFLICT, Fault(), CONFLICT, Fault())
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url) as api:
        server.break_next("getUpdates", *faults)
        telegram = adapter(api, clock)

        async def sleep(seconds: float) -> None:
            await clock.sleep(seconds)
            said.append((telegram.status.state, telegram.status.detail))

        telegram._sleep = sleep
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(telegram.run, Inbox())
            for number in range(1, 4):
                server.send_user_message(7, f"message {number}")
                await server.called("getUpdates", 2 * number)
            assert telegram.status.state == "degraded"
            clock.now += 300
            server.send_user_message(7, "and now alone")
            await server.confirmed()
            assert (telegram.status.state, telegram.status.detail) == ("ok", "")
            tasks.cancel_scope.cancel()
    assert [state for state, detail in said if "stop that program" in detail][:2] == [
        "ok",
        "degraded",
    ]
    assert "put its token into TELEGRAM_BOT_TOKEN" in said[-1][1]


async def test_polling_waits_as_long_as_telegram_asks() -> None:
    """429 names the seconds; an hour is the most, and at none the usual pauses are made."""
    clock = Clock()
    faults = (too_many(33), Fault(502, None), too_many(100_000), too_many(0))
    async with FakeBotApi(TOKEN) as server:
        server.break_next("getUpdates", *faults)
        async with running(server, Inbox(), clock):
            server.send_user_message(7, "hi")
            await server.confirmed()
    assert clock.slept[:4] == [33, 4, 3600, 16]


async def test_a_poll_that_hangs_is_given_up_and_repeated() -> None:
    """A long poll can be dead without an error (F55)."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server, BotApi(TOKEN, server.url, poll_timeout=0.5) as api:
        server.break_next("getUpdates", HANG, LOST_ANSWER)
        server.send_user_message(7, "hi")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(adapter(api, Clock()).run, inbox)
            await server.confirmed()
            tasks.cancel_scope.cancel()
    assert inbox.texts == ["hi"]


async def test_a_server_that_holds_no_poll_open_is_not_flooded() -> None:
    """An empty answer at once is followed by a second's wait."""
    answer = {"ok": True, "result": []}
    clock = Clock()

    def handle(asked: Asked) -> HttpAnswer:
        me = {"ok": True, "result": {"id": 1, "url": ""}}
        return answered(answer if "getUpdates" in asked.url else me)

    async with (
        BotApi(TOKEN, network=AnsweringNetwork(handle)) as api,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(adapter(api, clock).run, Inbox())
        with time_limit():
            await clock.twice.wait()
        tasks.cancel_scope.cancel()
    assert clock.slept[:2] == [1, 1]


@pytest.mark.parametrize("field", ["migrate_to_chat_id", "migrate_from_chat_id"])
async def test_a_move_is_stored_before_the_updates_of_the_new_group(field: str) -> None:
    """Either service message tells it, and what the journal sends to the old id follows."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server, running(server, inbox, Clock()) as telegram:
        server.becomes_supergroup(-9, -1009, field)
        server.send_user_message(-1009, "@test_bot hi", entities=[{**MENTION}])
        await inbox.holds(2)
        assert inbox.known == {"-1009": "-9"}
        await telegram.send(OutboundPart("-9", "hello", reply_to="3"))
        await telegram.send(OutboundPart("-9", "again", reply_to="-1009:4"))
        assert server.list_texts(-1009) == ["hello", "again"]
        first, second = (call.params for call in server.calls("sendMessage"))
    assert "reply_parameters" not in first
    assert second["reply_parameters"]["message_id"] == 4


async def test_a_refused_message_tells_the_move_and_is_sent_to_the_new_group() -> None:
    """The number of a message of the old group means another one in the new group."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server, running(server, inbox, Clock()) as telegram:
        server.becomes_supergroup(-9, -1009)
        await telegram.send(OutboundPart("-9", "hello", reply_to="3"))
        server.send_user_message(-1009, "@test_bot hi", entities=[{**MENTION}])
        await inbox.holds(1)
        assert inbox.known == {"-1009": "-9"}
        assert server.list_texts(-1009) == ["hello"]
        refused, sent = (call.params for call in server.calls("sendMessage"))
    assert refused["reply_parameters"]["message_id"] == 3
    assert "reply_parameters" not in sent


async def test_a_stored_move_is_known_after_a_restart() -> None:
    """Nothing is sent to the old group first."""
    inbox = Inbox()
    inbox.known["-1009"] = "-9"
    async with FakeBotApi(TOKEN) as server, running(server, inbox, Clock()) as telegram:
        await server.called("getUpdates")
        await telegram.send(OutboundPart("-9", "hello"))
        await telegram.show_typing("-9", None)
        assert [call.params["chat_id"] for call in server.calls("sendMessage")] == [-1009]
        assert [call.params["chat_id"] for call in server.calls("sendChatAction")] == [-1009]


async def test_a_group_that_moves_for_ever_is_not_followed() -> None:
    """The second refusal is an error like others."""
    async with FakeBotApi(TOKEN) as server, running(server, Inbox(), Clock()) as telegram:
        server.becomes_supergroup(-9, -1009)
        server.becomes_supergroup(-1009, -2009)
        with pytest.raises(SendError):
            await telegram.send(OutboundPart("-9", "hello"))


async def test_a_press_is_answered_once_it_is_stored() -> None:
    """The answer is for the person who pressed; the button's data and message are the text."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server, running(server, inbox, Clock()):
        server.press_button(-9, "y:code:1234", 5, person=8)
        await server.called("answerCallbackQuery")
    (pressed,) = inbox.stored
    assert (pressed.kind, pressed.chat_id, pressed.sender_id) == (PRESS, "-9", "8")
    assert (pressed.text, pressed.private) == ("y:code:1234 5", False)
    assert [text for _, text in server.press_answers] == ["y:code:1234 5"]


async def test_a_press_that_cannot_be_answered_stops_nothing() -> None:
    """It was stored, and the person's app shows a spinner for a while."""
    inbox = Inbox()
    async with FakeBotApi(TOKEN) as server, running(server, inbox, Clock()) as telegram:
        server.break_next("answerCallbackQuery", Fault(400, "Bad Request: query is too old"))
        server.press_button(7, "y:code:1234", 5)
        server.send_user_message(7, "hello")
        await inbox.holds(2)
        await server.confirmed()
        assert telegram.status.state == "ok"
