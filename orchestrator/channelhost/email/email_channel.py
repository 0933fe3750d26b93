"""E-mail: a folder over IMAP in, answers over SMTP out.

IMAP numbers the mails of a folder, so the cursor is the number of the last one. SMTP has no keys: a
mail that was sent again may arrive twice, with the same Message-ID, by which many programs show it
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

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.channelhost.channel_wire import MessageName, OutgoingMessage
from orchestrator.channelhost.email.email_events import (
    ADDRESS,
    Recipient,
    Thread,
    received,
    thread_of,
    thread_root,
)
from orchestrator.channelhost.email.imap_connection import ImapError, LoginRefusedError
from orchestrator.channelhost.email.mail_content import (
    MAX_MAIL,
    content,
    data,
    is_readable,
    parsed,
    parsed_head,
)
from orchestrator.channelhost.email.mail_folder import (
    Envelope,
    FolderPlace,
    MailFolder,
    open_folder,
)
from orchestrator.channelhost.email.mail_sender import PASSWORD_REFUSED, REFUSED, send_mail
from orchestrator.channelhost.email.mail_server import MailServer, mail_server
from orchestrator.channelhost.email.outgoing_mail import own_id, written
from orchestrator.channelhost.foreign_channel import ChannelInbox, readable
from orchestrator.recent import Recent

REMEMBERED = 1000  # threads whose last mail is known
LOOK_UP_SECONDS = 10.0  # for the subject of another thread
_Chat: TypeAlias = tuple[str, str]  # a sender and the name of a thread
_HANDLE = re.compile(r"(\d+):(\d+):(\d+)")


@dataclass(frozen=True)
class MailAccount:
    """An account, its servers, and whom it believes who sent a mail."""

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
        imap=mail_server(options["imap"]),
        smtp=mail_server(options["smtp"]),
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
        self._threads = Recent[_Chat, Thread](REMEMBERED)

    # --- in --------------------------------------------------------------------------------------

    async def run(self, inbox: ChannelInbox) -> None:
        place = FolderPlace.read(await inbox.cursor())
        with _told(self._account.imap):
            async with self._folder() as folder:
                if place is None:
                    place = await folder.end()
                    await inbox.begin(str(place))
                while True:
                    mails = await folder.newer(place)
                    for mail in mails:
                        place = place.after(mail, folder.validity)
                        await self._hand_in(inbox, folder, mail, place)
                    place = folder.settled(place)
                    inbox.receiving()
                    await folder.wait()

    async def _hand_in(
        self, inbox: ChannelInbox, folder: MailFolder, mail: Envelope, place: FolderPlace
    ) -> None:
        """Hand in one mail, if it is a message, and mark it as seen once it is stored."""
        whole = mail.size <= MAX_MAIL
        raw = await folder.read(mail.uid, whole=whole)
        if not raw:
            return  # it is gone
        handle = f"{folder.validity}:{mail.uid}"
        read = partial(received, whole=whole)
        message = await anyio.to_thread.run_sync(readable, read, raw, handle, self._bot)
        if message is None:
            return
        if message.chat_id and message.thread_id:
            chat = (message.chat_id, message.thread_id)
            self._threads[chat] = thread_of(parsed_head(raw), message.message_id)
        await inbox.accept([message], str(place))
        await folder.mark_seen(mail.uid)

    async def download(self, handle: str, limit: int) -> bytes:
        found = _HANDLE.fullmatch(handle)
        validity, uid, number = map(int, found.groups()) if found else (0, 0, 0)
        with _told(self._account.imap):
            async with self._folder() as folder:
                known = folder.validity == validity and await folder.size(uid) <= MAX_MAIL
                raw = await folder.read(uid, whole=True) if known else b""
        if not raw or not is_readable(raw):
            raise SendError("the mail with this file is gone", SendOutcome.PERMANENT)
        return await anyio.to_thread.run_sync(_file_in, raw, number, limit)

    # --- out -------------------------------------------------------------------------------------

    async def send(self, message: OutgoingMessage) -> str:
        if not ADDRESS.fullmatch(message.chat_id):
            raise SendError(f"{message.chat_id} is no address", SendOutcome.PERMANENT)
        thread = await self._thread((message.chat_id, message.thread_id or ""))
        mail = written(message, self._account.address, thread, self._clock())
        await send_mail(mail, self._account.smtp, self._account.user, self._account.password)
        return own_id(message.key, self._account.address)

    async def edit(self, message: OutgoingMessage) -> None:
        """Do nothing: a mail is sent for good, and so is the question that was decided."""

    async def remove(self, message: MessageName) -> None:
        raise SendError(f"the mail {message.message_id} is sent for good", SendOutcome.PERMANENT)

    async def typing(self, chat: MessageName) -> None:
        """Do nothing: mail shows nothing of it."""

    async def close(self) -> None:
        """Do nothing: connections end with what uses them."""

    async def _thread(self, chat: _Chat) -> Thread | None:
        """Return what an answer in a thread needs, as far as it is known; None without a thread."""
        if not chat[1] or chat in self._threads:
            return self._threads.get(chat)
        found = await self._looked_up(*chat)
        if found is None:
            return Thread("", (thread_root(chat[1]),))
        self._threads[chat] = found
        return found

    async def _looked_up(self, sender: str, name: str) -> Thread | None:
        """Return what the last mail of a thread says, as after a restart; None if none is found."""
        root = thread_root(name)
        with anyio.move_on_after(LOOK_UP_SECONDS), suppress(ConnectionError, ImapError):
            async with self._folder() as folder:
                uid = await folder.last_of(root, sender)
                head = await folder.read(uid, whole=False) if uid else b""
            found = readable(partial(received, whole=False), head, "", self._bot)
            if found is not None and found.chat_id == sender:
                return thread_of(parsed_head(head), found.message_id)
        return None

    def _folder(self) -> AbstractAsyncContextManager[MailFolder]:
        account = self._account
        return open_folder(account.imap, account.user, account.password, account.folder)


def _file_in(raw: bytes, number: int, limit: int) -> bytes:
    files = content(parsed(raw)).files
    if number >= len(files):
        raise SendError("the mail has no such file", SendOutcome.PERMANENT)
    found = data(files[number])
    if len(found) > limit:
        raise SendError(f"the file is over {limit} bytes", SendOutcome.PERMANENT)
    return found


@contextmanager
def _told(server: MailServer) -> Iterator[None]:
    """Raise what goes wrong with a server as a `SendError` that says what to do."""
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
