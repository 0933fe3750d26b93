"""E-mail: a folder over IMAP in, answers over SMTP out.

IMAP numbers the mails of a folder, so the cursor is the number of the last one. SMTP has no keys:
a mail that is sent again may arrive twice, but with the same Message-ID, so many programs show it
once.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeAlias

import anyio

from orchestrator.bounded_dict import BoundedDict
from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage
from orchestrator.channelhost.foreign_channel import ChannelInbox, try_read_message
from orchestrator.extensions.email.email_events import (
    ADDRESS,
    Recipient,
    Thread,
    build_thread,
    parse_received_mail,
    parse_thread_root,
)
from orchestrator.extensions.email.imap_connection import ImapError, LoginRefusedError
from orchestrator.extensions.email.mail_content import (
    MAX_MAIL,
    extract_bytes,
    extract_content,
    is_readable,
    parse_head,
    parse_mail,
)
from orchestrator.extensions.email.mail_folder import (
    Envelope,
    FolderPlace,
    MailFolder,
    open_folder,
)
from orchestrator.extensions.email.mail_sender import PASSWORD_REFUSED, REFUSED, send_mail
from orchestrator.extensions.email.mail_server import MailServer, parse_mail_server
from orchestrator.extensions.email.outgoing_mail import build_own_id, compose_mail

REMEMBERED = 1000  # threads whose last mail is known
LOOK_UP_SECONDS = 10.0  # for the subject of another thread
_Chat: TypeAlias = tuple[str, str]  # a sender and the name of a thread
_HANDLE = re.compile(r"(\d+):(\d+):(\d+)")


@dataclass(frozen=True)
class MailAccount:
    """An account, its servers, and the server trusted to verify senders."""

    address: str
    imap: MailServer
    smtp: MailServer
    user: str
    password: str
    folder: str
    verified_by: str


def connect(options: Mapping[str, str], secrets: Mapping[str, str]) -> "EmailChannel":
    """Return the channel; it connects when it runs."""
    address = options["address"].lower()
    account = MailAccount(
        address=address,
        imap=parse_mail_server(options["imap"]),
        smtp=parse_mail_server(options["smtp"]),
        user=options["user"] or address,
        password=secrets["EMAIL_PASSWORD"],
        folder=options["folder"],
        verified_by=options["verifiedBy"],
    )
    return EmailChannel(account)


class EmailChannel:
    """One address; ``clock`` dates its mails."""

    def __init__(
        self, account: MailAccount, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._account = account
        self._bot = Recipient(account.address, account.verified_by)
        self._clock = clock
        self._threads = BoundedDict[_Chat, Thread](REMEMBERED)

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        place = FolderPlace.parse_cursor(await inbox.load_cursor())
        with _translate_errors(self._account.imap):
            async with self._open_folder() as folder:
                if place is None:
                    place = await folder.find_end()
                    await inbox.store_cursor(str(place))
                while True:
                    mails = await folder.list_newer_mails(place)
                    for mail in mails:
                        place = place.move_after(mail, folder.validity)
                        await self._store_mail(inbox, folder, mail, place)
                    place = folder.renumber_place(place)
                    inbox.report_receiving()
                    await folder.wait()

    async def _store_mail(
        self, inbox: ChannelInbox, folder: MailFolder, mail: Envelope, place: FolderPlace
    ) -> None:
        """Store one mail, if it is a message, and then mark it as seen."""
        whole = mail.size <= MAX_MAIL
        raw = await folder.read_mail(mail.uid, whole=whole)
        if not raw:
            return  # the mail was deleted
        handle = f"{folder.validity}:{mail.uid}"
        read = partial(parse_received_mail, whole=whole)
        message = await anyio.to_thread.run_sync(try_read_message, read, raw, handle, self._bot)
        if message is None:
            return
        if message.chat_id and message.thread_id:
            chat = (message.chat_id, message.thread_id)
            self._threads[chat] = build_thread(parse_head(raw), message.message_id)
        await inbox.store_messages([message], str(place))
        await folder.mark_seen(mail.uid)

    async def download(self, handle: str, limit: int) -> bytes:
        found = _HANDLE.fullmatch(handle)
        validity, uid, number = map(int, found.groups()) if found else (0, 0, 0)
        with _translate_errors(self._account.imap):
            async with self._open_folder() as folder:
                known = folder.validity == validity and await folder.fetch_size(uid) <= MAX_MAIL
                raw = await folder.read_mail(uid, whole=True) if known else b""
        if not raw or not is_readable(raw):
            raise SendError("the mail with this file was deleted", SendOutcome.PERMANENT)
        return await anyio.to_thread.run_sync(_extract_file, raw, number, limit)

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        if not ADDRESS.fullmatch(message.chat_id):
            raise SendError(f"{message.chat_id} is not an address", SendOutcome.PERMANENT)
        thread = await self._find_thread((message.chat_id, message.thread_id or ""))
        mail = compose_mail(message, self._account.address, thread, self._clock())
        await send_mail(mail, self._account.smtp, self._account.user, self._account.password)
        return build_own_id(message.key, self._account.address)

    async def edit(self, message: OutgoingMessage) -> None:
        """Do nothing: a sent mail cannot be changed."""

    async def remove(self, message: MessageName) -> None:
        raise SendError(f"the mail {message.message_id} cannot be changed", SendOutcome.PERMANENT)

    async def show_typing(self, chat: MessageName) -> None:
        """Do nothing: mail has no typing indicator."""

    async def close(self) -> None:
        """Do nothing: connections close with their use."""

    async def _find_thread(self, chat: _Chat) -> Thread | None:
        """Return the known data of a thread for an answer; None without a thread."""
        if not chat[1] or chat in self._threads:
            return self._threads.get(chat)
        found = await self._look_up_thread(*chat)
        if found is None:
            return Thread("", (parse_thread_root(chat[1]),))
        self._threads[chat] = found
        return found

    async def _look_up_thread(self, sender: str, name: str) -> Thread | None:
        """Return the data of a thread's last mail, after a restart; None if not found."""
        root = parse_thread_root(name)
        with anyio.move_on_after(LOOK_UP_SECONDS), suppress(ConnectionError, ImapError):
            async with self._open_folder() as folder:
                uid = await folder.find_last_mail(root, sender)
                head = await folder.read_mail(uid, whole=False) if uid else b""
            found = try_read_message(partial(parse_received_mail, whole=False), head, "", self._bot)
            if found is not None and found.chat_id == sender:
                return build_thread(parse_head(head), found.message_id)
        return None

    def _open_folder(self) -> AbstractAsyncContextManager[MailFolder]:
        account = self._account
        return open_folder(account.imap, account.user, account.password, account.folder)


def _extract_file(raw: bytes, number: int, limit: int) -> bytes:
    files = extract_content(parse_mail(raw)).files
    if number >= len(files):
        raise SendError("the mail has no such file", SendOutcome.PERMANENT)
    found = extract_bytes(files[number])
    if len(found) > limit:
        raise SendError(f"the file is over {limit} bytes", SendOutcome.PERMANENT)
    return found


@contextmanager
def _translate_errors(server: MailServer) -> Iterator[None]:
    """Raise a server's failures as a `SendError` that says what to do."""
    try:
        yield
    except LoginRefusedError as error:
        words = PASSWORD_REFUSED.format(server="IMAP")
        raise SendError(words, SendOutcome.NOT_SENT, REFUSED) from error
    except ImapError as error:
        words = f"{server.host} refuses: {error}; check channels.email"
        raise SendError(words, SendOutcome.NOT_SENT) from error
    except ConnectionError as error:
        words = f"{server.host} cannot be reached: {error}; check channels.email.{server.name}"
        raise SendError(words, SendOutcome.NOT_SENT) from error
