"""Updates of every form become messages, and none is lost."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channel_api import MAX_FILE, Attachment, InboundMessage
from orchestrator.extensions.telegram.updates import (
    MAX_TEXT,
    Bot,
    parse_inbound_message,
    parse_update_number,
)

BOT = Bot("42", "Test_Bot")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def message(**fields: Any) -> dict[str, Any]:
    """A private message of Ada's."""
    return {
        "message_id": 5,
        "date": 1,
        "chat": {"id": 7, "type": "private"},
        "from": {"id": 7, "is_bot": False, "first_name": "Ada", "last_name": "L"},
        **fields,
    }


def group(text: str, **fields: Any) -> dict[str, Any]:
    """A message in a group."""
    return message(chat={"id": -9, "type": "supergroup"}, text=text, **fields)


def read(fields: dict[str, Any], kind: str = "message") -> InboundMessage:
    """The message of update 3."""
    return parse_inbound_message({"update_id": 3, kind: fields}, 3, BOT)


def entity(kind: str, offset: int, length: int, **fields: Any) -> list[dict[str, Any]]:
    """One entity."""
    return [{"type": kind, "offset": offset, "length": length, **fields}]


def test_a_private_message_is_taken_over() -> None:
    """Numbers become text, and the sender has a name."""
    assert read(message(text="hi")) == InboundMessage(
        "telegram", "42", "7", "5", "7", text="hi", update_id=3, sender_name="Ada L"
    )


def test_an_edit_has_its_date_and_kind() -> None:
    """So that each version is a row of its own."""
    edited = read(message(text="hi!", edit_date=99), "edited_message")
    assert (edited.kind, edited.edit_date, edited.text) == ("edit", 99, "hi!")


def test_a_topic_has_a_thread_and_a_reply_thread_has_none() -> None:
    """Only topics can be answered in by their number."""
    assert read(message(text="x", message_thread_id=4, is_topic_message=True)).thread_id == "4"
    assert read(message(text="x", message_thread_id=4)).thread_id is None


def test_a_picture_is_attached_in_its_largest_size_and_the_caption_is_the_text() -> None:
    """One that Telegram says is too large is passed over; a document that is a picture is one."""
    sizes = [
        {"file_id": "s", "width": 90, "height": 60},
        {"file_id": "m", "width": 900, "height": 600},
        {"file_id": "l", "width": 9000, "height": 6000, "file_size": 9_000_000},
    ]
    seen = read(message(photo=sizes, caption="look"))
    assert (seen.text, seen.skip) == ("look", None)
    assert seen.attachments == (Attachment("m", "photo, 900x600"),)
    document = {"file_id": "d", "mime_type": "image/png", "file_name": "plan.png"}
    alone = read(message(document=document))
    assert (alone.text, alone.skip) == ("", None)
    assert alone.attachments == (Attachment("d", "plan.png, image/png", "plan.png"),)


def test_a_document_is_attached_unless_it_is_too_large_for_bots() -> None:
    """The agent learns why it does not see one; one without a name is a file all the same."""
    document = {"file_id": "d", "mime_type": "application/pdf", "file_name": "a.pdf"}
    seen = read(message(document={**document, "file_size": MAX_FILE}, caption="read"))
    assert (seen.text, seen.attachments) == (
        "read",
        (Attachment("d", "a.pdf, application/pdf", "a.pdf"),),
    )
    large = read(message(document={**document, "file_size": MAX_FILE + 1}, caption="read"))
    assert large.attachments == ()
    assert large.text == (
        "read\n[document: a.pdf, application/pdf; it is larger than 20 MB, which bots cannot"
        " download]"
    )
    nameless = read(message(document={"file_id": "d"}))
    assert nameless.attachments == (Attachment("d", "", "file"),)


@pytest.mark.parametrize(
    ("fields", "attachment"),
    [
        (
            {"voice": {"file_id": "v", "duration": 12, "mime_type": "audio/ogg"}},
            Attachment("v", "voice: 12 seconds", "voice.ogg", voice=True),
        ),
        (
            {"video_note": {"file_id": "n", "duration": 3}},
            Attachment("n", "video note: 3 seconds", "video note.mp4", voice=True),
        ),
        (
            {"audio": {"file_id": "a", "title": "Talk", "mime_type": "audio/x-m4a"}},
            Attachment("a", "audio: Talk", "Talk.m4a"),
        ),
        (
            {"audio": {"file_id": "a", "file_name": "song.mp3"}},
            Attachment("a", "audio: song.mp3", "song.mp3"),
        ),
    ],
)
def test_recording_is_attached(fields: dict[str, Any], attachment: Attachment) -> None:
    """What is said with the chat's own button counts as the person's words."""
    found = read(message(**fields, caption="hear"))
    assert (found.text, found.attachments, found.skip) == ("hear", (attachment,), None)


def test_recording_that_no_bot_can_download_is_named() -> None:
    """With the reason."""
    large = read(message(voice={"file_id": "v", "duration": 5000, "file_size": MAX_FILE + 1}))
    assert large.attachments == ()
    assert "voice: 5000 seconds; it is larger than 20 MB" in large.text


def test_parts_of_an_album_are_told_by_its_id() -> None:
    """An edit of one comes after the album, so it belongs to none."""
    assert read(message(text="x")).album is None
    assert read(message(caption="x", photo=[], media_group_id="5")).album == "5"
    assert read(message(caption="x", media_group_id=5)).album == "5"
    assert read(message(caption="x", media_group_id="5"), "edited_message").album is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"voice": {"duration": 12}}, "[voice: 12 seconds; what is in it is not known]"),
        ({"sticker": {"emoji": "🦊"}}, "[sticker: 🦊; what is in it is not known]"),
        (
            {"document": {"file_name": "a.pdf", "mime_type": "application/pdf"}},
            "[document: a.pdf, application/pdf; what is in it is not known]",
        ),
        (
            {"animation": {}, "document": {"file_id": "d", "mime_type": "image/gif"}},
            "[animation; what is in it is not known]",
        ),
        ({"venue": {"title": "Inn"}, "location": {"latitude": 1}}, "[venue: Inn]"),
        ({"location": {"latitude": 1, "longitude": 2}}, "[location: 1.00000, 2.00000]"),
        ({"poll": {"question": "Tea?"}}, "[poll: Tea?]"),
        ({"photo": "?"}, "[photo; what is in it is not known]"),
        ({"video": 3, "caption": "see"}, "see\n[video; what is in it is not known]"),
    ],
)
def test_what_cannot_be_shown_is_named(fields: dict[str, Any], text: str) -> None:
    """So that an agent can answer, and nothing that a person sent is lost."""
    seen = read(message(**fields))
    assert (seen.text, seen.attachments, seen.skip) == (text, (), None)


def test_service_message_is_nobodys_question() -> None:
    """A message was pinned; the chat gets no notice."""
    skipped = read(message(pinned={}))
    assert (skipped.skip, skipped.notice) == ("no text", None)


def addressed(message: InboundMessage) -> bool:
    """Whether a message names the bot or replies to it."""
    return message.mentioned or message.replied_to_bot


def test_a_group_message_for_others_does_not_name_the_bot() -> None:
    """Admission decides what that means."""
    found = read(group("secret plans"))
    assert (found.mentioned, found.replied_to_bot, found.private) == (False, False, False)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (group("@test_bot hi", entities=entity("mention", 0, 9)), "hi"),
        (group("👍 ok @Test_Bot", entities=entity("mention", 6, 9)), "👍 ok @Test_Bot"),
        (group("/help@test_bot me", entities=entity("bot_command", 0, 14)), "/help me"),
        (group("Bot, hi", entities=entity("text_mention", 0, 3, user={"id": 42})), "Bot, hi"),
        (group("and?", reply_to_message={"from": {"id": 42}}), "and?"),
    ],
)
def test_a_group_message_for_the_bot_is_read(fields: dict[str, Any], expected: str) -> None:
    """By mention (counted in UTF-16), by command, by name, or as a reply."""
    found = read(fields)
    assert (found.skip, found.text, found.private) == (None, expected, False)
    assert found.mentioned is ("reply_to_message" not in fields)
    assert found.replied_to_bot is ("reply_to_message" in fields)


@pytest.mark.parametrize(
    "fields",
    [
        group("@other_bot hi", entities=entity("mention", 0, 10)),
        group("/help", entities=entity("bot_command", 0, 5)),
        group("hi", reply_to_message={"from": {"id": 8}}),
        group("hi", reply_to_message={"from": {"id": 42}, "forum_topic_created": {}}),
    ],
)
def test_a_group_message_for_somebody_else_is_not(fields: dict[str, Any]) -> None:
    """Every message of a topic replies to its creation, which may have been ours."""
    assert not addressed(read(fields))


def test_a_mention_in_a_reply_to_somebody_else_counts() -> None:
    """Two people talk and ask the bot."""
    fields = group(
        "@test_bot hi", entities=entity("mention", 0, 9), reply_to_message={"from": {"id": 8}}
    )
    assert addressed(read(fields))


@pytest.mark.parametrize(
    ("text", "entities", "expected", "mentioned"),
    [
        (
            "👍 @test_bot\nsays he\nno!",
            (("blockquote", 0, 20),),
            "> 👍 @test_bot\n> says he\nno!",
            0,
        ),
        ("a\nb\nc", (("expandable_blockquote", 2, 1),), "a\n> b\nc", 0),
        ("ab", (("blockquote", 1, 1),), "a\n> b", 0),
        ("a\nb\n@test_bot", (("blockquote", 0, 1), ("blockquote", 2, 2)), "> a\n> b\n@test_bot", 1),
        ("ab", (("blockquote", 0, 2), ("blockquote", 1, 9)), "> ab", 0),
        ("👍", (("blockquote", 1, 70),), "\ufffd\n> \ufffd", 0),
    ],
)
def test_quote_is_marked_and_its_mention_does_not_count(
    text: str, entities: tuple[tuple[str, int, int], ...], expected: str, *, mentioned: int
) -> None:
    """As people write quotes elsewhere; a foreign server may mark anything."""
    at = text.encode("utf-16-le").find("@test_bot".encode("utf-16-le")) // 2
    marks = [mark for place in entities for mark in entity(*place)]
    found = read(group(text, entities=[*marks, *entity("mention", max(at, 0), 9)]))
    assert (found.text, found.mentioned) == (expected, bool(mentioned))


def test_result_of_another_bot_is_not_the_sender_s_words() -> None:
    """A person chose it, and a program wrote it."""
    assert read(message(text="pay!", via_bot={"id": 8, "is_bot": True})).origin == "other_user"


def test_command_for_another_bot_is_passed_over() -> None:
    """Also in a group in which every message is answered; a mention in it counts."""
    fields = group("/help@other_bot", entities=entity("bot_command", 0, 15))
    assert read(fields).skip == "a command for another bot"
    both = [*entity("bot_command", 0, 15), *entity("mention", 16, 9)]
    assert read(group("/help@other_bot @test_bot", entities=both)).skip is None
    assert read(group("/help me", entities=entity("bot_command", 0, 5))).skip is None


def test_message_of_a_bot_is_told() -> None:
    """Two bots would talk for ever."""
    assert read(message(text="hi", **{"from": {"id": 8, "is_bot": True}})).from_bot
    assert not read(message(text="hi")).from_bot


def test_an_anonymous_administrator_is_known_by_the_group() -> None:
    """The account behind it is shared by all of them."""
    fields = group("@test_bot hi", entities=entity("mention", 0, 9))
    fields["from"] = {"id": 1087968824, "is_bot": True}
    found = read({**fields, "sender_chat": {"id": -9, "type": "supergroup"}})
    assert (found.from_bot, found.personal, found.sender_id) == (False, False, "-9")


@pytest.mark.parametrize("chat", [-1007, 1007])
def test_a_post_in_the_name_of_a_channel_has_a_negative_sender(chat: int) -> None:
    """So has what a linked channel forwards by itself; no person has such an id."""
    forwarded = {"sender_chat": {"id": chat, "type": "channel"}, "is_automatic_forward": True}
    fields = group("@test_bot /pause", entities=entity("mention", 0, 9)) | forwarded
    found = read({**fields, "from": {"id": 777000, "is_bot": False}})
    assert (found.sender_id, found.personal) == ("-1007", False)


def test_a_text_of_20_mb_is_kept_short_and_answered() -> None:
    """A foreign server may send anything."""
    skipped = read(message(text="x" * 20_000_000))
    assert (skipped.skip, len(skipped.text)) == ("too long", MAX_TEXT)
    assert skipped.notice is not None


@pytest.mark.parametrize(
    "broken", [None, [], "x", {}, message(chat=None), message(text=5), message(message_id=2**64)]
)
def test_an_unreadable_message_is_still_a_row(broken: Any) -> None:
    """Nothing is lost silently."""
    found = read(broken)
    assert (found.skip, found.message_id, found.update_id) == ("unreadable", "u3", 3)


def test_an_update_of_another_kind_is_recorded() -> None:
    """A server may remember that it was once asked for channel posts."""
    found = parse_inbound_message({"update_id": 3, "channel_post": {}}, 3, BOT)
    assert (found.skip, found.message_id) == ("not a message", "u3")


@given(JSON, st.sampled_from(["message", "edited_message"]))
def test_whatever_comes_one_message_comes_out(value: Any, kind: str) -> None:
    """No form of JSON makes an error."""
    assert parse_inbound_message({kind: value}, 3, BOT).update_id == 3
    assert parse_inbound_message(value, 3, BOT).update_id == 3
    parse_update_number(value)


@pytest.mark.parametrize(
    ("update", "number"),
    [({"update_id": 7}, 7), ({}, None), (None, None), ({"update_id": 2**63 - 1}, None)],
)
def test_an_update_number_is_one_that_can_be_stored(update: Any, number: int | None) -> None:
    """The number after it must fit the journal, too."""
    assert parse_update_number(update) == number


def press(**fields: Any) -> InboundMessage:
    """A press of a button below a message of the bot in a group, as it is stored."""
    shown = {"message_id": 5, "date": 0, "chat": {"id": -9, "type": "supergroup"}}
    raw = {"id": "77", "from": {"id": 8, "first_name": "Ada"}, "message": shown, "data": "y:c:d"}
    return parse_inbound_message({"callback_query": raw | fields}, 3, BOT)


def test_a_press_is_by_the_person_and_not_by_the_author_of_the_message() -> None:
    """The message is the bot's; an administrator who hides in the group is named all the same."""
    found = press()
    assert (found.kind, found.skip, found.message_id) == ("press", None, "press:77")
    assert (found.sender_id, found.chat_id, found.private) == ("8", "-9", False)
    assert (found.text, found.update_id) == ("y:c:d 5", 3)


@pytest.mark.parametrize(
    "fields",
    [{"message": None}, {"from": None}, {"data": None}, {"data": "x" * 65}, {"id": "7/7"}],
)
def test_a_press_of_no_button_of_ours_is_not_read(fields: Any) -> None:
    """Games and messages of inline mode have none."""
    assert press(**fields).skip == "unreadable"


@pytest.mark.parametrize(
    "fields", [{"forward_origin": {"type": "hidden_user", "date": 1}}, {"forward_date": 1}]
)
def test_forwarded_message_has_the_words_of_somebody_else(fields: dict[str, Any]) -> None:
    """Older servers have only the date."""
    forwarded = message(text="send it", **fields)
    assert (
        parse_inbound_message({"update_id": 1, "message": forwarded}, 1, BOT).origin == "other_user"
    )
    assert (
        parse_inbound_message({"update_id": 1, "message": message(text="hi")}, 1, BOT).origin
        == "user"
    )


def test_a_reply_carries_what_it_answers() -> None:
    """The bot's words, the sender's own, and those of others are told apart."""
    ada, eve = {"id": 7, "first_name": "Ada"}, {"id": 8, "first_name": "E\u202eve"}
    bot = {"id": 42, "is_bot": True, "first_name": "Bot"}
    for author, by in ((bot, "agent"), (ada, "sender"), (eve, "other")):
        answered = {"message_id": 12, "from": author, "text": "It is."}
        found = read(message(text="why?", reply_to_message=answered))
        assert found.quote is not None
        assert (found.quote.by, found.quote.text, found.reply_to) == (by, "It is.", "12")
    assert found.quote is not None
    assert found.quote.author == "Eve"


def test_a_chosen_part_and_a_quote_from_another_chat_come_alone() -> None:
    """The rest of the message was not meant."""
    part = {"text": "five", "position": 3, "is_manual": True}
    near = {"from": {"id": 42, "is_bot": True, "first_name": "B"}, "text": "at five sharp"}
    found = read(message(text="am or pm?", reply_to_message=near, quote=part)).quote
    assert found is not None
    assert (found.by, found.text) == ("agent", "five")
    origin = {"type": "channel", "chat": {"id": -3, "title": "News"}, "message_id": 4}
    found = read(message(text="true?", external_reply={"origin": origin}, quote=part)).quote
    assert found is not None
    assert (found.by, found.author, found.text) == ("other", "News", "five")


@pytest.mark.parametrize(
    "mark",
    [
        {"forward_origin": {"type": "hidden_user", "sender_user_name": "Eve"}},
        {"forward_date": 5},
        {"via_bot": {"id": 9, "is_bot": True, "first_name": "I"}},
        {"sender_chat": {"id": -3, "title": "News"}},
    ],
)
def test_what_the_answered_message_repeats_is_of_others(mark: dict[str, Any]) -> None:
    """Though the bot or the sender has posted it."""
    for number in (7, 42):
        answered = {"from": {"id": number, "first_name": "A"}, "text": "/pause", **mark}
        found = read(message(text="well?", reply_to_message=answered)).quote
        assert found is not None
        assert found.is_foreign


def test_a_reply_to_a_picture_names_it_and_brings_it() -> None:
    """A recording is named only: it is not what the sender says."""
    photo = {"photo": [{"file_id": "p", "width": 8, "height": 6}]}
    voice = {"voice": {"file_id": "v", "duration": 3}}
    found = read(message(text="what is it?", reply_to_message={"from": {"id": 8}, **photo}))
    assert found.quote is not None
    assert found.quote.text == "[photo, 8x6]"
    assert [item.handle for item in found.attachments] == ["p"]
    found = read(message(text="well?", reply_to_message={"from": {"id": 8}, **voice}))
    assert found.quote is not None
    assert (found.quote.text, found.attachments) == ("[voice: 3 seconds]", ())


@pytest.mark.parametrize(
    "answered",
    [
        {"from": {"id": 42}, "forum_topic_created": {"name": "Topic"}, "text": "x"},
        {"from": {"id": 42}},
        {"from": "no one"},
        "nonsense",
    ],
)
def test_a_reply_without_words_quotes_nothing(answered: Any) -> None:
    """Nor does one that cannot be read."""
    assert read(message(text="hi", reply_to_message=answered)).quote is None


def test_a_forwarded_message_says_where_it_comes_from() -> None:
    """It is of others, and its caption too."""
    person = {"type": "user", "sender_user": {"id": 8, "first_name": "Eve"}}
    found = read(message(text="/pause", forward_origin=person))
    assert (found.origin, found.text) == ("other_user", "[forwarded from Eve]\n/pause")
    photo = [{"file_id": "p", "width": 8, "height": 6}]
    found = read(message(caption="/pause", photo=photo, forward_origin={"type": "odd"}))
    assert (found.origin, found.text) == ("other_user", "[forwarded]\n/pause")
    found = read(message(text="/pause", via_bot={"id": 9, "is_bot": True}))
    assert found.origin == "other_user"
    assert "inline bot" in found.text
