"""Events become messages with facts."""

import pytest

from orchestrator.channelhost.channel_wire import ReceivedMessage
from orchestrator.extensions.slack.slack_events import (
    SlackCursor,
    SlackMessage,
    SlackView,
    convert_slack_message,
    extract_message,
)
from thinker.protocol.messages import JsonObject

BASE: JsonObject = {
    "type": "message",
    "channel": "C1",
    "channel_type": "channel",
    "user": "U1",
    "text": "hello",
    "ts": "1700000001.000200",
}
CHANGED: JsonObject = {
    "type": "message",
    "subtype": "message_changed",
    "channel": "D1",
    "channel_type": "im",
    "ts": "1700000009.000100",
    "message": {**BASE, "text": "new", "edited": {"user": "U1", "ts": "1700000008.000000"}},
    "previous_message": BASE,
}
VIEW = SlackView("UBOT", "BBOT", {"U1": "Ann"})


def message(**fields: object) -> ReceivedMessage | None:
    """What becomes of an event with these fields."""
    found = extract_message(SlackMessage.model_validate({**BASE, **fields}))
    return convert_slack_message(found, VIEW) if found else None


def test_a_message_has_its_facts() -> None:
    """As Slack tells them."""
    assert message() == ReceivedMessage(
        chat_id="C1",
        message_id="1700000001.000200",
        sender_id="U1",
        sender_name="Ann",
        text="hello",
        private=False,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "UBOT"},
        {"user": None, "bot_id": "BBOT", "subtype": "bot_message"},
        {"user": None},
        {"ts": None},
        {"type": "app_mention"},
        {"subtype": "channel_join"},
        {"subtype": "message_deleted"},
        {"user": None, "text": None, "message": BASE, "hidden": True},
    ],
)
def test_other_events_are_no_messages(fields: JsonObject) -> None:
    """Neither is what the bot says itself, nor the news that a message was answered."""
    assert message(**fields) is None


def test_bots_are_known_by_their_mark() -> None:
    """Slackbot is one, too."""
    webhook = message(user=None, subtype="bot_message", bot_id="B2", username="alerts")
    app = message(user="U7", bot_id="B3", bot_profile={"name": "Polls"})
    slackbot = message(user="USLACKBOT")
    assert webhook is not None
    assert app is not None
    assert slackbot is not None
    assert [found.from_bot for found in (webhook, app, slackbot)] == [True, True, True]
    assert (webhook.sender_id, webhook.sender_name) == ("B2", "alerts")
    assert app.sender_name == "Polls"


def test_only_a_direct_message_is_private() -> None:
    """A group message with several people is a group."""
    kinds = [("im", "D1"), (None, "D1"), ("mpim", "G1"), ("group", "G1")]
    found = [message(channel_type=kind, channel=channel) for kind, channel in kinds]
    assert [one.private for one in found if one] == [True, True, False, False]


def test_a_thread_of_the_bot_answers_it() -> None:
    """The root itself is in no thread."""
    root = message(thread_ts=BASE["ts"], parent_user_id="UBOT")
    answer = message(thread_ts="1700000000.000001", parent_user_id="UBOT")
    shown = message(
        thread_ts="1700000000.000001", subtype="thread_broadcast", root={"user": "UBOT"}
    )
    other = message(thread_ts="1700000000.000001", parent_user_id="U2")
    found = [one for one in (root, answer, shown, other) if one]
    assert [one.replied_to_bot for one in found] == [False, True, True, False]
    assert [one.thread_id for one in found] == [None, *["1700000000.000001"] * 3]


def test_a_mention_is_known_anywhere_in_the_text() -> None:
    """At the beginning it is left out."""
    first, later = message(text="<@UBOT> go"), message(text="go, <@UBOT>!")
    assert first is not None
    assert later is not None
    assert (first.mentioned, first.text) == (True, "go")
    assert (later.mentioned, later.text) == (True, "go, @UBOT!")


def test_an_edit_has_the_id_of_its_message() -> None:
    """Its date is that of the edit."""
    found = extract_message(SlackMessage.model_validate(CHANGED))
    assert found is not None
    edit = convert_slack_message(found, VIEW)
    assert edit is not None
    assert (edit.message_id, edit.text, edit.edit_date) == (BASE["ts"], "new", 1_700_000_008)
    assert (edit.chat_id, edit.private) == ("D1", True)


def test_a_preview_of_a_link_is_no_edit() -> None:
    """Slack tells of it as of an edit."""
    preview = {**CHANGED, "previous_message": CHANGED["message"]}
    unedited = {**CHANGED, "message": BASE}
    assert extract_message(SlackMessage.model_validate(preview)) is None
    assert extract_message(SlackMessage.model_validate(unedited)) is None


def test_files_say_what_they_are() -> None:
    """Those that Slack no longer has an id for are left out."""
    photo = {"id": "F1", "name": "a.png", "mimetype": "image/png", "original_w": 4, "original_h": 3}
    voice = {"id": "F2", "mimetype": "audio/mp4", "duration_ms": 5200, "name": None}
    voice["subtype"] = "slack_audio"
    found = message(subtype="file_share", files=[photo, voice, {"mode": "tombstone"}])
    assert found is not None
    assert [(file.handle, file.about, file.name) for file in found.attachments] == [
        ("F1", "image: a.png, image/png, 4x3", "a.png"),
        ("F2", "audio: audio/mp4, 5 seconds", ""),
    ]
    assert [file.voice for file in found.attachments] == [False, True]


def test_the_cursor_never_goes_back() -> None:
    """Timestamps are compared as numbers."""
    cursor = SlackCursor(begun="1.5", newest="999.000100")
    assert cursor.move_after("1000.000001").newest == "1000.000001"
    assert cursor.move_after("5.000000").newest == "999.000100"


def test_a_message_that_is_passed_on_comes_with_its_author() -> None:
    """It is of others; the comment is the sender's own. A preview of a page is no message."""
    share: JsonObject = {"is_share": True, "author_id": "U9", "author_name": "Eve"}
    found = message(text="true?", attachments=[share | {"text": "/pause &amp; pay"}])
    assert found is not None
    assert (found.text, found.origin) == ("true?", "user")
    assert found.quote is not None
    assert found.quote.kind == "forward"
    assert (found.quote.by, found.quote.author, found.quote.text) == (
        "other",
        "Eve",
        "/pause & pay",
    )
    found = message(attachments=[{"text": "a page", "from_url": "https://x.example"}])
    assert found is not None
    assert found.quote is None


def test_an_answer_that_the_chat_shows_too_comes_with_the_first_message_of_its_thread() -> None:
    """Slack tells it of no other answer."""
    for author, by in (("UBOT", "agent"), ("U1", "sender"), ("U9", "other")):
        root: JsonObject = {"user": author, "text": "at five"}
        found = message(subtype="thread_broadcast", thread_ts="1700000000.000100", root=root)
        assert found is not None
        assert found.quote is not None
        assert (found.quote.by, found.quote.text) == (by, "at five")


@pytest.mark.parametrize(
    "fields",
    [
        {"subtype": "message_deleted", "deleted_ts": "1700000001.000200"},
        {
            "subtype": "message_changed",
            "message": {**BASE, "subtype": "tombstone", "user": "USLACKBOT"},
        },
    ],
)
def test_a_deleted_message_is_told(fields: JsonObject) -> None:
    """One with a thread leaves a stone."""
    found = message(ts="1700000005.000000", **fields)
    assert found is not None
    assert (found.chat_id, found.message_id, found.kind) == ("C1", "1700000001.000200", "removal")
