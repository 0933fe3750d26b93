"""Telegram pushes updates: each is stored once and in order, and what keeps them away is told."""

import anyio
import pytest
from fakes.bot_api import UNAUTHORIZED, Fault, too_many
from fakes.pushed_telegram import TOKEN, URL, pushed_telegram
from fakes.pushing_bot import NO_ANSWER
from fakes.telegram_inbox import Inbox
from structlog.testing import capture_logs

from orchestrator.channel_api import PRESS, OutboundPart
from orchestrator.extensions.telegram.bot_api import BotApi
from orchestrator.extensions.telegram.webhook import LOOK

MENTION = {"type": "mention", "offset": 0, "length": 9}
OTHER = "https://elsewhere.example/hook"


async def test_an_update_is_acknowledged_once_it_is_stored_and_none_is_polled() -> None:
    """The number after it is stored, as a poll would, and nothing is dropped."""
    async with pushed_telegram() as world:
        world.server.send_user_message(7, "hello")
        number = world.server.send_user_message(7, "there")
        await world.server.delivered(number, 200)
        assert world.inbox.texts == ["hello", "there"]
        assert world.inbox.next_offset == number + 1
        (call,) = world.server.calls("setWebhook")
        assert call.params == {
            "url": URL,
            "secret_token": world.telegram.push_secret,
            "allowed_updates": ["message", "edited_message", "callback_query"],
            "max_connections": 1,
        }
        await world.clock.asleep()
        assert world.telegram.status.state == "ok"
        assert world.server.calls("getUpdates") == []
    assert world.telegram.status.state == "stopped"


async def test_all_machines_that_have_the_token_know_the_same_secret() -> None:
    """It is made of letters that Telegram takes, and does not show the token."""
    async with BotApi(TOKEN) as one, BotApi(TOKEN) as two, BotApi("1:x") as other:
        assert one.push_secret == two.push_secret != other.push_secret
        assert len(one.push_secret) == 64
        assert one.push_secret.isalnum()
        assert TOKEN not in one.push_secret


async def test_an_update_comes_again_until_there_is_room_and_newer_ones_wait() -> None:
    """The status says why, and is well as soon as it is stored."""
    inbox = Inbox()
    inbox.full = True
    async with pushed_telegram(inbox) as world:
        first = world.server.send_user_message(7, "keep me")
        second = world.server.send_user_message(7, "me too")
        await world.server.delivered(first, 503, 2)
        assert world.telegram.status.state == "degraded"
        assert "cannot store updates: storage full" in world.telegram.status.detail
        await world.clock.pass_on()  # a look in between changes nothing
        assert "cannot store updates: storage full" in world.telegram.status.detail
        inbox.full = False
        await world.server.delivered(second, 200)
        assert inbox.texts == ["keep me", "me too"]
        assert (second, 503) not in world.server.deliveries
        await world.clock.pass_on()
        await world.clock.pass_on()
        assert (world.telegram.status.state, world.telegram.status.detail) == ("ok", "")


async def test_updates_wait_at_telegram_until_the_bot_is_known() -> None:
    """Without its name nothing could say whether a message is for it."""
    async with pushed_telegram(broken=("getMe", Fault(502))) as world:
        await world.clock.asleep()
        assert (await world.push(b'{"update_id": 1}')).status_code == 503
        await world.clock.pass_on()
        assert (await world.push(b'{"update_id": 1}')).status_code == 200
    assert [message.update_id for message in world.inbox.stored] == [1]


async def test_nothing_is_taken_while_the_daemon_stops() -> None:
    """Telegram keeps it for the next start, or another machine."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        world.stop()
        await anyio.lowlevel.checkpoint()
    answer = await world.telegram.store_pushed_update(b'{"update_id": 1}')
    assert answer == "the daemon is starting or stopping; try again in a moment"
    assert world.inbox.stored == []


@pytest.mark.parametrize(
    ("body", "event"),
    [
        (b"{", "telegram_update_unreadable"),
        (b"", "telegram_update_unreadable"),
        (b"[" * 100_000, "telegram_update_unreadable"),
        (b"5", "telegram_update_without_number"),
        (b"[]", "telegram_update_without_number"),
        (b'{"message": {}}', "telegram_update_without_number"),
        (b'{"update_id": "x"}', "telegram_update_without_number"),
        (b'{"update_id": 99999999999999999999}', "telegram_update_without_number"),
    ],
)
async def test_what_can_never_be_stored_is_acknowledged_with_a_warning(
    body: bytes, event: str
) -> None:
    """Or else Telegram would repeat it for ever, and send nothing newer."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        with capture_logs() as lines:
            assert (await world.push(body)).status_code == 200
        assert [line["event"] for line in lines if line["log_level"] == "warning"] == [event]
        assert world.inbox.stored == []
        number = world.server.send_user_message(7, "next")
        await world.server.delivered(number, 200)
        assert world.telegram.status.state == "ok"


@pytest.mark.parametrize("length", [1, 50_000])
async def test_text_that_no_journal_holds_is_stored_without_it(length: int) -> None:
    """Half a surrogate pair becomes a question mark, as in a poll; long bodies too."""
    text = "\\ud83d" + "x" * length
    body = (
        f'{{"update_id": 4, "message": {{"message_id": 1, "chat": {{"id": 7, "type": "private"}},'
        f' "text": "{text}"}}}}'
    )
    async with pushed_telegram() as world:
        await world.clock.asleep()
        assert (await world.push(body.encode())).status_code == 200
        assert world.inbox.texts == ["?" + "x" * length]


async def test_an_update_that_is_malformed_becomes_a_row_of_its_own() -> None:
    """It blocks no other."""
    async with pushed_telegram() as world:
        world.server.queue_update({"message": {"text": 5}})
        number = world.server.send_user_message(7, "fine")
        await world.server.delivered(number, 200)
    assert [message.skip for message in world.inbox.stored] == ["unreadable", None]


async def test_a_press_is_answered_and_a_group_moves_as_with_polls() -> None:
    """The move is stored before the updates of the new group, also one that a message told."""
    async with pushed_telegram() as world:
        world.server.press_button(-9, "y:code:1234", 5, person=8)
        await world.server.called("answerCallbackQuery")
        (pressed,) = world.inbox.stored
        assert (pressed.kind, pressed.text) == (PRESS, "y:code:1234 5")
        world.server.becomes_supergroup(-9, -1009, "migrate_to_chat_id")
        number = world.server.send_user_message(-1009, "@test_bot hi", entities=[{**MENTION}])
        await world.server.delivered(number, 200)
        assert world.inbox.known == {"-1009": "-9"}
        world.server.becomes_supergroup(-8, -1008)
        await world.telegram.send(OutboundPart("-8", "hello"))
        await world.clock.pass_on()
        assert world.inbox.known == {"-1009": "-9", "-1008": "-8"}


async def test_what_telegram_says_of_its_deliveries_is_the_status_until_they_go_on() -> None:
    """With what to do; a look a minute finds it."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        right, world.server.leads_to = world.server.leads_to, ""
        number = world.server.send_user_message(7, "hi")
        await world.server.delivered(number, NO_ANSWER)
        await world.clock.pass_on()
        status = world.telegram.status
        assert (status.state, status.detail) == (
            "degraded",
            f"Telegram cannot reach {URL}: Connection refused; check the proxy and its certificate",
        )
        assert world.clock.slept == [LOOK, LOOK]
        assert status.last_ok == world.clock.now  # or else a load balancer would leave it out
        world.server.leads_to = right
        await world.server.delivered(number, 200)
        for _ in range(2):
            await world.clock.pass_on()
        assert (status.state, status.detail) == ("ok", "")


async def test_updates_that_wait_for_two_looks_are_told_without_an_error_too() -> None:
    """Telegram may not have tried again."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        world.server.holds_back = True
        world.server.send_user_message(7, "hi")
        number = world.server.send_user_message(7, "there")
        await world.clock.pass_on()
        assert world.telegram.status.state == "ok"
        await world.clock.pass_on()
        assert world.telegram.status.detail == (
            f"Telegram cannot reach {URL}: 2 updates wait; check the proxy and its certificate"
        )
        world.server.holds_back = False
        world.server.changes.wake()
        await world.server.delivered(number, 200)
        await world.clock.pass_on()
        assert world.telegram.status.state == "ok"


@pytest.mark.parametrize(
    ("other", "words"),
    [(OTHER, f"set this bot's webhook to {OTHER}"), ("", "removed this webhook")],
)
async def test_a_webhook_that_another_program_took_is_set_again(other: str, words: str) -> None:
    """The status says so until the next look, and nothing is lost."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        world.server.webhook = other
        await world.clock.pass_on()
        assert (world.telegram.status.state, world.telegram.status.detail) == (
            "degraded",
            f"another program {words}; it is set again: stop that program, or use another bot",
        )
        assert world.server.webhook == URL
        await world.clock.pass_on()
        assert world.telegram.status.state == "ok"


async def test_a_refused_address_is_told_with_what_to_correct_and_tried_again() -> None:
    """With the pauses of a poll that fails."""
    refused = Fault(400, "Bad Request: bad webhook: failed to resolve host")
    faults = refused, too_many(33), Fault(502, None)
    async with pushed_telegram(broken=("setWebhook", *faults)) as world:
        await world.clock.asleep()
        assert (world.telegram.status.state, world.telegram.status.detail) == (
            "degraded",
            (
                "telegram setWebhook: Bad Request: bad webhook: failed to resolve host (400);"
                " correct channels.telegram.webhook.url in agents.json"
            ),
        )
        for _ in range(3):
            await world.clock.pass_on()
        assert world.clock.slept == [2, 33, 8, LOOK]
        assert world.telegram.status.state == "ok"


async def test_a_look_that_fails_is_told_and_repeated() -> None:
    """A token that was revoked meanwhile shows so."""
    async with pushed_telegram() as world:
        await world.clock.asleep()
        world.server.break_next("getWebhookInfo", UNAUTHORIZED)
        await world.clock.pass_on()
        assert "token refused" in world.telegram.status.detail
        await world.clock.pass_on()
        assert world.telegram.status.state == "ok"


async def test_an_edit_of_agents_json_goes_from_one_way_to_the_other_and_loses_nothing() -> None:
    """At once, in both directions; an update that came both ways is handed in with its number."""
    async with pushed_telegram(url=None) as world:
        await world.server.called("getUpdates")
        world.server.send_user_message(7, "polled")
        await world.inbox.holds(1)
        world.wanted.edit(URL)
        number = world.server.send_user_message(7, "pushed")
        await world.server.delivered(number, 200)
        world.wanted.edit(URL)  # another edit, which leaves it as it is
        world.server.leads_to, right = "", world.server.leads_to
        world.server.send_user_message(7, "polled again")
        await world.server.delivered(number + 1, NO_ANSWER)
        world.wanted.edit(None)
        await world.server.confirmed()
        assert world.telegram.push_secret is None
        world.server.leads_to = right
        world.wanted.edit(URL)
        number = world.server.send_user_message(7, "pushed again")
        await world.server.delivered(number, 200)
        assert len(world.server.calls("setWebhook")) == 2
        (removed,) = world.server.calls("deleteWebhook")
        assert removed.params == {}
    stored = {message.update_id: message.text for message in world.inbox.stored}
    assert [*stored.values()] == ["polled", "pushed", "polled again", "pushed again"]


async def test_a_journal_that_does_not_answer_is_told_to_telegram_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The update comes again; one after it need not wait."""
    monkeypatch.setattr("orchestrator.extensions.telegram.webhook.STORE_SECONDS", 0.01)
    inbox = Inbox()
    inbox.hangs = True
    async with pushed_telegram(inbox) as world:
        number = world.server.send_user_message(7, "hi")
        await world.server.delivered(number, 503)
        assert "cannot store updates: TimeoutError" in world.telegram.status.detail
        inbox.hangs = False
        await world.server.delivered(number, 200)
    assert inbox.texts == ["hi"]
