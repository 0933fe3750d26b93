"""People who write mails to the bot, and an SMTP server that takes its answers, or misbehaves."""

import base64
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from urllib.parse import unquote

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream
from fakes.dovecot import PASSWORD, MailHost, mail_host
from fakes.partial_world import PartialWorld

from orchestrator.channel_api import Adapter
from orchestrator.extensions.channel_folders.testing.memory_host import hosted_adapter
from orchestrator.extensions.email.email_channel import connect
from orchestrator.testing.loopback import LoopbackServer

DOMAIN = "bots.example"
VERIFIER = "mx.bots.example"
_numbers = itertools.count(1)


@dataclass(eq=False)
class SubmissionServer(LoopbackServer):
    """An SMTP server that keeps what it takes in, and misbehaves.

    ``answers`` replaces what it says to a command, ``lost`` ends the connection there: after
    ``DATA``, or once it has a ``mail``.
    """

    mails: list[tuple[str, EmailMessage]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    password: str = PASSWORD

    @property
    def port(self) -> int:
        """Its port on loopback."""
        return int(self.url.rpartition(":")[2])

    async def _serve_connection(self, stream: SocketStream) -> None:
        with suppress(anyio.EndOfStream, anyio.IncompleteRead, anyio.BrokenResourceError):
            async with stream:
                await self._talk(stream, BufferedByteReceiveStream(stream))

    async def _talk(self, stream: SocketStream, received: BufferedByteReceiveStream) -> None:
        recipient = ""
        await stream.send(b"220 ready\r\n")
        while True:
            line = (await received.receive_until(b"\r\n", 10_000)).decode()
            command, _, rest = line.partition(" ")
            command = command.upper()
            if command in self.lost:
                return
            said = self.answers.get(command) or self._answer(command, rest)
            if command == "RCPT":
                recipient = rest.partition("<")[2].partition(">")[0]
                said = "550 5.1.1 no such mailbox" if recipient in self.refused else said
            await stream.send(f"{said}\r\n".encode())
            if said.startswith("354"):
                data = await received.receive_until(b"\r\n.\r\n", 10**8)
                text = data.replace(b"\r\n..", b"\r\n.") + b"\r\n"
                mail = message_from_bytes(text, EmailMessage, policy=SMTP)
                self.mails.append((recipient, mail))
                if "mail" in self.lost:
                    return
                await stream.send(self.answers.get("mail", "250 taken").encode() + b"\r\n")
            if command == "QUIT":
                return

    def _answer(self, command: str, rest: str) -> str:
        if command == "EHLO":
            return "250-bots.example\r\n250-AUTH PLAIN\r\n250 8BITMIME"
        if command == "AUTH":
            plain = base64.b64decode(rest.rpartition(" ")[2]).decode()
            right = plain.rpartition("\0")[2] == self.password
            return "235 welcome" if right else "535 5.7.8 wrong password"
        return {"DATA": "354 go on", "QUIT": "221 bye"}.get(command, "250 ok")


@dataclass
class MailWorld(PartialWorld):
    """A `ChannelWorld`: Ann writes to the bot alone, Bob to a circle of which the bot is one."""

    host: MailHost
    smtp: SubmissionServer
    bot: str
    private: str
    group: str
    lacks: frozenset[str] = frozenset({"edits", "connections", "nonsense"})

    @property
    def options(self) -> dict[str, str]:
        """Its section in agents.json."""
        return {
            "address": self.bot,
            "imap": f"imap://127.0.0.1:{self.host.imap}",
            "smtp": f"smtp://127.0.0.1:{self.smtp.port}",
            "verifiedBy": VERIFIER,
        }

    @asynccontextmanager
    async def open_adapter(self) -> AsyncIterator[Adapter]:
        secrets = {"EMAIL_PASSWORD": PASSWORD}
        async with hosted_adapter("email", self.options, secrets, connect) as adapter:
            yield adapter

    def written(self, sender: str, text: str, **others: str) -> EmailMessage:
        """A mail to the bot, whose sender the server has verified."""
        mail = EmailMessage(policy=SMTP)
        domain = sender.rpartition("@")[2]
        mail["Authentication-Results"] = f"{VERIFIER}; dmarc=pass header.from={domain}"
        fields = {
            "From": f"{sender.partition('@')[0].title()} <{sender}>",
            "To": self.bot,
            "Date": formatdate(),
            "Message-ID": make_msgid(domain=domain),
        }
        for name, value in (fields | others).items():
            mail[name] = value
        mail.set_content(text)
        return mail

    def deliver(self, mail: EmailMessage) -> str:
        """Put a mail into the bot's mailbox; return its id."""
        self.host.deliver(self.bot, mail.as_bytes())
        return str(mail["Message-ID"]).strip().strip("<>")

    async def say(
        self, chat: str, text: str, *, mention: bool = False, answers: str = "", thread: str = ""
    ) -> str:
        circle = "circle@people.example"
        fields = {}
        if chat == self.group:
            to, cc = (self.bot, circle) if mention else (circle, self.bot)
            fields = {"To": to, "Cc": cc}
        if answers or thread:
            fields |= {
                "In-Reply-To": f"<{answers or thread}>",
                "References": f"<{thread or answers}>",
            }
        return self.deliver(self.written(chat, text, **fields))

    async def change(self, chat: str, message_id: str, text: str) -> None:
        raise NotImplementedError  # a mail cannot be changed

    async def say_as_bot(self, chat: str, text: str) -> None:
        fields = {"Auto-Submitted": "auto-generated"}
        self.deliver(self.written(f"robot-{chat}", text, **fields))

    async def hand_in_file(self, chat: str, name: str, data: bytes) -> None:
        mail = self.written(chat, "")
        mail.add_attachment(data, maintype="text", subtype="plain", filename=name)
        self.deliver(mail)

    async def list_shown_texts(self, chat: str) -> list[str]:
        address, _, thread = chat.partition("/")
        return [
            self._shown(mail)
            for recipient, mail in self.smtp.mails
            if recipient == address and f"<{unquote(thread)}>" in str(mail["References"] or "<>")
        ]

    def _shown(self, mail: EmailMessage) -> str:
        for part in mail.iter_attachments():
            return str(part.get_filename())
        body = mail.get_body(("plain",))
        assert body is not None
        return str(body.get_content()).strip()

    async def load_shown_file(self, chat: str) -> bytes:
        files = [
            bytes(part.get_content())
            for recipient, mail in self.smtp.mails
            if recipient == chat
            for part in mail.iter_attachments()
        ]
        return files[-1]

    @asynccontextmanager
    async def lose_answers(self) -> AsyncIterator[None]:
        self.smtp.lost.add("mail")
        yield
        self.smtp.lost.clear()

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[None]:
        self.smtp.answers["RCPT"] = "450 4.7.1 too many mails, try again later"
        yield
        self.smtp.answers.clear()

    async def leave(self) -> str:
        self.smtp.refused.add("gone@people.example")
        return "gone@people.example"


@asynccontextmanager
async def mail_world(host: MailHost | None = None) -> AsyncIterator[MailWorld]:
    """Make a mailbox of its own, and people who write to it, for one test.

    Without a ``host`` there is one for this test, to which mails can be submitted as well.
    """
    number = next(_numbers)
    ann, bob = (f"{name}{number}@people.example" for name in ("ann", "bob"))
    async with SubmissionServer() as smtp:
        with nullcontext(host) if host else mail_host(smtp.port) as running:
            yield MailWorld(running, smtp, f"bot{number}@{DOMAIN}", ann, bob)
