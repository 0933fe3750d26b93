"""What stands in a room becomes a message, whatever its sender wrote."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channelhost.channel_wire import ReceivedMessage
from orchestrator.extensions.matrix.matrix_events import (
    ENCRYPTED,
    RoomView,
    build_message_content,
    convert_matrix_event,
    parse_events,
    select_since_invited,
)

BOT = "@bot:x"
ROOM = RoomView("!r:x", private=False, bot=BOT, bot_names=(BOT, "Bot"), names={"@ann:x": "Ann"})


def event(content: Any, kind: str = "m.room.message", **fields: Any) -> Any:
    """An event of Ann."""
    base = {"type": kind, "event_id": "$1", "sender": "@ann:x", "origin_server_ts": 1_000_000}
    return {**base, "content": content, **fields}


def message(content: Any, **fields: Any) -> ReceivedMessage:
    """The message in an event."""
    found = convert_matrix_event(parse_events([event(content, **fields)])[0], ROOM)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("content", "text", "mentioned"),
    [
        ({"body": "Bot: hi"}, "hi", True),
        ({"body": "bot, hi"}, "hi", True),
        ({"body": "about robots"}, "about robots", False),
        ({"body": "hi @bot:x!"}, "hi @bot:x!", True),
        ({"body": "Bot: hi", "m.mentions": {}}, "Bot: hi", False),
        ({"body": "hi", "m.mentions": {"user_ids": [BOT]}}, "hi", True),
        ({"body": "x", "m.mentions": {"user_ids": ["@other:x"]}}, "x", False),
    ],
)
def test_a_mention_is_what_the_sender_marked_or_the_name(
    content: Any, text: str, *, mentioned: bool
) -> None:
    """A client that marks mentions decides; the name goes from the beginning of the text."""
    found = message({"msgtype": "m.text", **content})
    assert (found.text, found.mentioned) == (text, mentioned)


def test_the_quotation_of_an_older_client_is_no_text_of_its_sender() -> None:
    """What it answers is known by its id."""
    content = {"msgtype": "m.text", "body": "> <@bot:x> Bot is here\n> too\n\nthanks"}
    relation = {"m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}}
    assert message({**content, **relation}).text == "thanks"
    assert message(content).text.startswith("> <@bot:x>")


def test_a_picture_has_a_caption_only_if_it_has_a_name_beside_it() -> None:
    """The body of others is the name of the file."""
    plain = message({"msgtype": "m.image", "body": "a.png", "url": "mxc://x/1"})
    info = {"mimetype": "image/png", "w": 3, "h": 4}
    named = {"body": "look, Bot!", "filename": "a.png", "info": info}
    captioned = message({"msgtype": "m.image", "url": "mxc://x/1", **named})
    assert (plain.text, plain.attachments[0].name) == ("", "a.png")
    assert (captioned.text, captioned.mentioned) == ("look, Bot!", True)
    assert captioned.attachments[0].about == "image: a.png, image/png, 3x4"


def test_an_encrypted_message_is_answered_with_what_to_do() -> None:
    """It is no message for an agent."""
    found = message({"ciphertext": "…"}, kind="m.room.encrypted")
    assert (found.skip, found.notice, found.text) == ("encrypted", ENCRYPTED, "")


def test_an_edit_that_cannot_be_read_changes_nothing() -> None:
    """The message stays as it was."""
    relation = {"rel_type": "m.replace", "event_id": "$0"}
    found = message({"msgtype": "m.text", "body": "*", "m.relates_to": relation})
    assert (found.message_id, found.edit_date, found.skip) == ("$0", 1000, "unreadable")


def test_what_was_said_before_the_invitation_is_left_out() -> None:
    """Without an invitation in sight the joining counts; an older room is read whole."""

    def member(membership: str) -> Any:
        return event({"membership": membership}, "m.room.member", state_key=BOT)

    said = [event({"body": name}, event_id=name) for name in "abc"]

    def kept(*sources: Any) -> list[str]:
        return [
            found.event_id
            for found in select_since_invited(parse_events(sources), BOT)
            if found.sender
        ]

    assert kept(said[0], member("invite"), said[1], member("join"), said[2]) == ["b", "$1", "c"]
    assert kept(said[0], member("join"), said[2]) == ["c"]
    assert kept(*said) == ["a", "b", "c"]


def test_markup_keeps_the_lines_of_code() -> None:
    """Other line ends become breaks; a text without markup has none."""
    content = build_message_content("a\nb\nc\nd", "<b>a</b>\nb<pre>c\nd</pre>")
    assert content["formatted_body"] == "<b>a</b><br>b<pre>c\nd</pre>"
    assert content["m.mentions"] == {}
    assert "format" not in build_message_content("a", "a")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["body", "msgtype", "m.relates_to", "m.mentions", "info", "url"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_content_breaks_the_channel(content: Any) -> None:
    """Anyone may send anything."""
    for found in parse_events([event(content), content, event(content, sender=content)]):
        convert_matrix_event(found, ROOM)


@pytest.mark.parametrize(
    ("kind", "mark", "voice"),
    [
        ("m.audio", {"org.matrix.msc3245.voice": {}}, True),
        ("m.audio", {}, False),
        ("m.file", {"org.matrix.msc3245.voice": {}}, False),
    ],
)
def test_voice_message_is_told_from_other_files(
    kind: str, mark: dict[str, Any], *, voice: bool
) -> None:
    """By the mark that clients set on sound that was recorded instead of writing."""
    content = {"msgtype": kind, "body": "Voice message", "url": "mxc://x/1", **mark}
    (file,) = message(content).attachments
    assert (file.name, file.voice) == ("Voice message", voice)


REPLY = {"m.relates_to": {"m.in_reply_to": {"event_id": "$0"}}}


def answer(body: str, answered: Any = None, *, answers_bot: bool = False) -> ReceivedMessage:
    """Ann's answer to an event, which the homeserver may have."""
    found = convert_matrix_event(
        parse_events([event({"msgtype": "m.text", "body": body, **REPLY})])[0],
        ROOM,
        answers_bot=answers_bot,
        answered=None if answered is None else parse_events([answered])[0],
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("sender", "by"), [(BOT, "agent"), ("@ann:x", "sender"), ("@eve:x", "other")]
)
def test_an_answer_carries_the_event_that_it_answers(sender: str, by: str) -> None:
    """And not what the sender says that it was."""
    body = {"msgtype": "m.text", "body": "at five"}
    found = answer("> <@bot:x> /pause\n\nno", event(body, sender=sender))
    assert found.quote is not None
    assert (found.text, found.quote.by, found.quote.text) == ("no", by, "at five")
    assert found.reply_to == "$0"


def test_without_the_event_its_quotation_is_of_others() -> None:
    """Unless the bot is known to have sent it."""
    body = "> <@bot:x> at five\n> sharp\n\nno"
    for answers_bot, by in ((False, "other"), (True, "agent")):
        found = answer(body, answers_bot=answers_bot)
        assert found.quote is not None
        assert (found.text, found.quote.by, found.quote.text) == ("no", by, "at five\nsharp")
    assert answer("no").quote is None


def test_an_answer_to_a_picture_brings_it() -> None:
    """With its name as the words that are answered."""
    picture = {"msgtype": "m.image", "body": "cat.png", "url": "mxc://x/1"}
    found = answer("what is it?", event(picture, sender="@eve:x"))
    assert found.quote is not None
    assert found.quote.text == "[image: cat.png]"
    assert [file.handle for file in found.attachments] == ["mxc://x/1"]


@pytest.mark.parametrize("fields", [{"redacts": "$0"}, {"content": {"redacts": "$0"}}])
def test_a_removed_event_is_told(fields: dict[str, Any]) -> None:
    """Newer rooms name it in the content."""
    removal = event({}, "m.room.redaction") | fields
    found = convert_matrix_event(parse_events([removal])[0], ROOM)
    assert found is not None
    assert (found.chat_id, found.message_id, found.kind) == ("!r:x", "$0", "removal")
