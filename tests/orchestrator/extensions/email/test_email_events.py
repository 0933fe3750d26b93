"""A mail becomes a message, whatever its sender wrote."""

from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.channelhost.channel_wire import MAX_TEXT, ReceivedMessage
from orchestrator.extensions.email.email_events import (
    TOO_LARGE,
    Recipient,
    format_thread_name,
    parse_received_mail,
    parse_thread_root,
)
from orchestrator.extensions.email.mail_content import MAX_LINES, MAX_PARTS
from orchestrator.extensions.email.outgoing_mail import build_own_id

BOT = Recipient("bot@x.example", "trustSender")
ALL = {"From": "Ann <Ann@a.example>", "To": "bot@x.example", "Message-ID": "<1@a.example>"}


def raw(body: bytes | str = "hello", **fields: str) -> bytes:
    """A mail of Ann; an empty field is left out, ``_`` stands for ``-``."""
    given = {name.replace("_", "-"): value for name, value in fields.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in (ALL | given).items() if value)
    return head.encode() + b"\r\n" + (body.encode() if isinstance(body, str) else body)


def message(mail: bytes) -> ReceivedMessage:
    """The message in a mail."""
    found = parse_received_mail(mail, "7:1", BOT)
    assert found is not None
    return found


def test_all_of_a_simple_mail_is_known() -> None:
    """One chat for each address, whose thread begins with this mail."""
    found = message(raw())
    assert (found.chat_id, found.sender_id, found.sender_name) == ("ann@a.example",) * 2 + ("Ann",)
    assert (found.message_id, found.thread_id) == ("1@a.example", "1@a.example")
    assert (found.private, found.mentioned, found.from_bot, found.skip) == (True, True, False, None)


@pytest.mark.parametrize(
    ("sender", "name", "address"),
    [
        ("ann@a.example", "ann@a.example", "ann@a.example"),
        ('"Ann, \\"A\\"" <ann@a.example>', 'Ann, "A"', "ann@a.example"),
        ("=?utf-8?q?J=C3=BCrgen?= <j@a.example>", "Jürgen", "j@a.example"),
        ("Jürgen (work) <j@a.example>", "Jürgen (work)", "j@a.example"),
        ("=?x?q?A?= <j@a.example>", "A", "j@a.example"),
    ],
)
def test_a_sender_has_a_name_and_an_address(sender: str, name: str, address: str) -> None:
    """In quotes, encoded or bare."""
    found = message(raw(From=sender))
    assert (found.sender_id, found.sender_name) == (address, name)


@pytest.mark.parametrize(
    "sender",
    [
        "",
        "Ann",
        "a@a.example, b@b.example",
        "a@a.example <b@b.example>",
        "a@a.example(<b@b.example>)",
        "Doe, Ann <ann@a.example>",
        "friends: a@a.example;",
        "<a@a.example><b@b.example>",
        "ann@a.example\r\nFrom: bob@b.example",
        "ann@münchen.example",
    ],
)
def test_a_sender_who_may_be_another_is_no_one(sender: str) -> None:
    """Servers and programs read such fields differently."""
    found = message(raw(From=sender))
    assert (found.chat_id, found.text) == ("", "")
    assert found.skip == "the mail names no sender, or more than one"


@pytest.mark.parametrize(
    "fields",
    [
        {"Auto_Submitted": "auto-replied (vacation)"},
        {"Precedence": "Bulk"},
        {"List_Id": "<news.a.example>"},
        {"Return_Path": "<>"},
        {"From": "No-Reply <no-reply@a.example>"},
        {"From": "MAILER-DAEMON@a.example"},
        {"From": "bounces+ann=x@a.example"},
    ],
)
def test_a_program_is_never_answered(fields: dict[str, str]) -> None:
    """Two of them would write to each other for ever."""
    assert message(raw(**fields)).from_bot
    assert not message(raw(Auto_Submitted="no", From="noreplyann@a.example")).from_bot


@pytest.mark.parametrize(
    ("to", "cc", "private", "mentioned"),
    [
        ("Bot <BOT@x.example>", "", True, True),
        ("bot+tag@x.example", "ann@a.example", True, True),
        ("bot@x.example, bob@b.example", "", False, True),
        ("bob@b.example", "bot@x.example", False, False),
        ("undisclosed-recipients:;", "", False, False),
    ],
)
def test_recipients_say_whom_a_mail_is_for(
    to: str, cc: str, *, private: bool, mentioned: bool
) -> None:
    """A mail to others too is one in a group."""
    found = message(raw(To=to, Cc=cc))
    assert (found.private, found.mentioned) == (private, mentioned)


def test_the_bots_own_mail_is_no_message() -> None:
    """A copy of it may come back."""
    assert parse_received_mail(raw(From="bot@x.example"), "7:1", BOT) is None


def test_a_thread_is_that_of_its_first_mail() -> None:
    """Its name has no sign that means something in the name of a chat."""
    found = message(raw(References="<a/b:c@h>\r\n <2@h>", In_Reply_To="<2@h>"))
    assert found.thread_id == "a%2Fb%3Ac@h"
    assert parse_thread_root(found.thread_id) == "a/b:c@h"
    assert message(raw(In_Reply_To="<2@h>")).thread_id == "2@h"
    assert message(raw(References="broken", In_Reply_To="")).thread_id == "1@a.example"
    assert not found.replied_to_bot
    assert message(raw(In_Reply_To=f"<{build_own_id('k', BOT.address)}>")).replied_to_bot


def test_a_mail_without_an_id_has_always_the_same() -> None:
    """So that it is known when it comes again."""
    first, again = message(raw(Message_ID="")), message(raw(Message_ID=""))
    assert first.message_id == again.message_id != message(raw("other", Message_ID="")).message_id


@pytest.mark.parametrize(
    ("fields", "body", "text"),
    [
        ({"Subject": "Weather"}, "in Rome?", "Weather\n\nin Rome?"),
        ({"Subject": "What time is it?"}, "", "What time is it?"),
        ({"Subject": "any"}, "/approve ABC", "/approve ABC"),
        ({"Subject": "Re: x", "References": "<0@h>"}, "yes\n\n> old", "yes"),
        ({"References": f"<{build_own_id('k', 'b@x')}>"}, "yes\n\n> bot's", "yes\n\n> bot's"),
        ({"References": f"<{build_own_id('k', 'b@x')}>"}, "/approve A\n\n> bot's", "/approve A"),
    ],
)
def test_the_text_is_what_a_person_says(fields: dict[str, str], body: str, text: str) -> None:
    """The subject begins a thread; the first answer to the bot keeps what only it repeats."""
    assert message(raw(body, **fields)).text == text


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=utf-8", "grüß".encode(), "grüß"),
        ("text/plain; charset=iso-8859-1", "„grüß“".encode("cp1252"), "„grüß“"),
        ("text/plain; charset=no-such", "grüß".encode(), "grüß"),
        ("text/plain; charset=utf-8", "grüß".encode("cp1252"), "grüß"),
        ("text/plain", "Привет, как дела?".encode("koi8_r"), "Привет, как дела?"),
        ("text/plain; charset=punycode", b"abc-", "abc-"),
        ("text/plain", b"a\xff\0b", "a\ufffdb"),
        ("text/html", b"<p>one<br>two</p><script>x</script>", "one\ntwo"),
        ("text/html", b"<div>" * 20_000, ""),
    ],
)
def test_bytes_become_text(kind: str, body: bytes, text: str) -> None:
    """Whatever they are said to be."""
    assert message(raw(body, Content_Type=kind)).text == text


def test_the_parts_of_a_mail_are_its_text_and_its_files() -> None:
    """Text for people wins over HTML; attached mails and pictures are files."""
    mail = EmailMessage()
    for name, value in ALL.items():
        mail[name] = value
    mail.set_content("plain")
    mail.add_alternative("<b>html</b>", subtype="html")
    mail.add_attachment(b"GIF", maintype="image", subtype="gif", filename="ü.gif")
    mail.add_attachment(EmailMessage())
    found = message(mail.as_bytes())
    assert found.text == "plain"
    assert [(file.name, file.about, file.handle) for file in found.attachments] == [
        ("ü.gif", "image: ü.gif, image/gif", "7:1:0"),
        ("message.eml", "mail: message.eml, message/rfc822", "7:1:1"),
    ]


@pytest.mark.parametrize(
    "body",
    [
        b"\n" * (MAX_LINES + 1),
        b"--b\n\n" * (MAX_PARTS + 1),
        b"".join(
            b"--b%d\nContent-Type: multipart/mixed; boundary=b%d\n\n" % (n, n + 1)
            for n in range(900)
        ),
        b"--b\nContent-Type: message/rfc822\n\n" * 900,
    ],
)
def test_a_bomb_is_refused_with_a_sentence(body: bytes) -> None:
    """Before it is parsed."""
    found = message(raw(body, Content_Type="multipart/mixed; boundary=b0"))
    assert (found.skip, found.notice, found.text) == ("too large", TOO_LARGE, "")
    assert found.chat_id == "ann@a.example"


def test_a_mail_over_the_limit_is_known_by_its_head() -> None:
    """Its sender learns what is wrong."""
    found = parse_received_mail(raw(""), "7:1", BOT, whole=False)
    assert found is not None
    assert (found.skip, found.notice) == ("too large", TOO_LARGE)


def test_a_long_text_is_cut_where_it_is_refused() -> None:
    """One character more than a message may have is kept, so that it is known to be too long."""
    assert len(message(raw("é" * MAX_TEXT * 3)).text) == MAX_TEXT + 1


LINES = st.sampled_from(
    [
        b"From: a@b",
        b"From: =?utf-8?b?/w==?= <a@b.c>",
        b'To: bot@x.example,,<>"',
        b"Subject: =?",
        b"Content-Type: multipart/mixed; boundary=b",
        b'Content-Type: text/html; charset="',
        b"--b",
        b"--b--",
        b"Content-Type: message/rfc822",
        b"Content-Transfer-Encoding: base64",
        b"",
        b"\xff\x00",
        b" x",
        b"<a",
        b"Content-Disposition: attachment; filename*0*=%ff",
        b"References: <",
        b"Message-ID: <\xff@b>",
    ]
)


@given(st.lists(LINES, max_size=25), st.binary(max_size=40))
def test_every_mail_is_read(lines: list[bytes], rest: bytes) -> None:
    """One that cannot be read would stop all that follow."""
    found = parse_received_mail(b"\r\n".join([*lines, rest]), "7:1", BOT)
    assert found is None or len(found.message_id) < 400


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=50))
def test_every_id_has_a_name_as_a_thread(root: str) -> None:
    """From which it can be read again."""
    assert parse_thread_root(format_thread_name(root)) == root
    assert not set("/:") & set(format_thread_name(root))


@pytest.mark.parametrize(
    "fields",
    [
        {"Content-Type": "text/plain; charset=idna"},
        {"Content-Type": "text/plain; charset*=utf-8''x"},
        {"Content-Type": "text/plain; charset=utf-7"},
        {"Subject": "=?utf-7?q?+2AE-?="},
        {"From": "=?utf-7?q?+2AE-?= <ann@a.example>"},
        {"From": f"ann@{'a.' * 300}example"},
    ],
)
def test_no_mail_breaks_what_reads_it(fields: dict[str, str]) -> None:
    """With words for charsets that are none for a text, half characters, and addresses too long."""
    found = message(raw(b"\xff +2AE- hello", **fields))
    assert found.model_dump_json()


def test_parts_of_a_text_are_cut_as_one() -> None:
    """However many there are, it fits where a message has to pass."""
    part = "--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + "x" * MAX_TEXT + "\r\n"
    mail = raw(part * 3 + "--b--\r\n", Content_Type="multipart/mixed; boundary=b")
    assert len(message(mail).text) <= MAX_TEXT + 1


def test_an_answer_carries_the_mail_that_it_answers() -> None:
    """That of the bot is known as the bot's; nobody vouches for what is quoted of others."""
    body = "no, at six\n\nOn 5 May bot@x.example wrote:\n> at five?\n> > when?\n"
    own = f"<{build_own_id('k', 'bot@x.example')}>"
    thread = f"<1@a.example> {own}"
    found = message(raw(body, In_Reply_To=own, References=thread)).quote
    assert found is not None
    assert (found.by, found.kind) == ("agent", "reply")
    assert found.text == "On 5 May bot@x.example wrote:\nat five?"
    for fields in (
        {"In_Reply_To": "<2@a.example>", "References": "<2@a.example>"},
        {"In_Reply_To": own, "References": thread, "Cc": "eve@e.example"},
    ):
        found = message(raw(body, **fields)).quote
        assert found is not None
        assert found.is_foreign
        assert "> when?" in found.text


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("---------- Forwarded message ---------\nFrom: x\nDate: y\n\n/pause", {}),
        ("> /pause", {"In_Reply_To": "<2@a.example>"}),
        ("/pause", {"Resent-From": "eve@e.example"}),
    ],
)
def test_a_mail_with_no_words_of_its_sender_is_of_others(body: str, fields: dict[str, str]) -> None:
    """So it is no command, and the model reads it as data."""
    found = message(raw(body, **fields))
    assert found.origin == "other_user"
    assert "/pause" in found.text


def test_a_comment_on_a_forwarded_mail_is_the_senders_alone() -> None:
    """The rest is what the sender passes on."""
    body = "sum this up\n\n---------- Forwarded message ---------\nFrom: x\nDate: y\n\n/pause"
    found = message(raw(body, Subject="Fwd: news"))
    assert (found.text, found.origin) == ("Fwd: news\n\nsum this up", "user")
    assert found.quote is not None
    assert (found.quote.kind, found.quote.by) == ("forward", "other")
    assert found.quote.text.endswith("/pause")
