"""A folder of a mailbox: which mails are new, and what is in them."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple, Self

from orchestrator.channelhost.email.imap_connection import (
    ImapConnection,
    ImapError,
    ImapLine,
    connected,
)
from orchestrator.channelhost.email.mail_server import MailServer

ASKED_AT_ONCE = 500  # mails
DAY = 86_400  # seconds
_FACTS = re.compile(
    rb'(?=.*\bUID (?P<uid>\d+))(?=.*\bINTERNALDATE "(?P<date>[^"]+)")'
    rb"(?:.*\bRFC822\.SIZE (?P<size>\d+))?"
)


class Envelope(NamedTuple):
    """A mail in a folder: its number, when it arrived (seconds since the epoch), its bytes."""

    uid: int
    date: int
    size: int


@dataclass(frozen=True)
class FolderPlace:
    """Up to where a folder is read; its text is the channel's cursor.

    The numbers of mails count while the folder has the same ``validity``. A server that gives it a
    new one gives all mails new numbers: then those are new that arrived ``since`` the last one.
    """

    validity: int
    uid: int
    since: int

    @classmethod
    def read(cls, cursor: str) -> Self | None:
        """Return the place of a cursor; None for an empty one."""
        return cls(*map(int, cursor.split(":"))) if cursor else None

    def __str__(self) -> str:
        return f"{self.validity}:{self.uid}:{self.since}"

    def after(self, mail: Envelope, validity: int) -> "FolderPlace":
        """Return the place after a mail of a folder with this validity."""
        return FolderPlace(validity, mail.uid, max(self.since, mail.date))


class MailFolder:
    """A folder that is open."""

    def __init__(self, connection: ImapConnection, selected: Sequence[ImapLine]) -> None:
        said = b"\n".join(line.text for line in selected)
        self._connection = connection
        self._size = _number(rb"\* (\d+) EXISTS", said) or 0
        self._next = _number(rb"\[UIDNEXT (\d+)\]", said)  # which not every server tells
        self.validity = _number(rb"\[UIDVALIDITY (\d+)\]", said) or 0

    async def end(self) -> FolderPlace:
        """Return the place after all mails that are there now."""
        newest = await self._envelopes("*") if self._size else []
        since = max((mail.date + 1 for mail in newest), default=0)
        # A mail that came since the folder was opened is new, also if it is among these.
        last = max((mail.uid for mail in newest), default=0)
        return FolderPlace(self.validity, last if self._next is None else self._next - 1, since)

    def settled(self, place: FolderPlace) -> FolderPlace:
        """Return a place, after which nothing is new, in the numbers that the folder has now."""
        if place.validity == self.validity or self._next is None:
            return place
        return replace(place, validity=self.validity, uid=self._next - 1)

    async def newer(self, place: FolderPlace) -> list[Envelope]:
        """Return the mails after a place, in their order."""
        self._connection.changed = False
        if place.validity == self.validity:
            found = await self._search(f"UID {place.uid + 1}:*")
            return await self._all([uid for uid in found if uid > place.uid])
        day = datetime.fromtimestamp(max(0, place.since - DAY), UTC)
        found = await self._search(f"SINCE {day.day}-{_MONTHS[day.month - 1]}-{day.year}")
        return [mail for mail in await self._all(found) if mail.date >= place.since]

    async def wait(self) -> None:
        """Wait until there may be newer mails."""
        await self._connection.wait()

    async def read(self, uid: int, *, whole: bool) -> bytes:
        """Return a mail, or only its head; nothing if it is gone. It stays unread."""
        part = "" if whole else "HEADER"
        for line in await self._connection.command(f"UID FETCH {uid} (UID BODY.PEEK[{part}])"):
            if line.literals and _number(rb"\bUID (\d+)", line.text) == uid:
                return line.literals[0]
        return b""

    async def size(self, uid: int) -> int:
        """Return the bytes of a mail; 0 if it is gone."""
        return max((mail.size for mail in await self._envelopes(str(uid))), default=0)

    async def mark_seen(self, uid: int) -> None:
        with suppress(ImapError):  # a folder that may only be read
            await self._connection.command(f"UID STORE {uid} +FLAGS.SILENT (\\Seen)")

    async def last_of(self, root: str, sender: str) -> int | None:
        """Return the number of a sender's last mail in the thread that a message began."""
        found = await self._search(
            f'FROM "{sender}" OR HEADER Message-ID "<{root}>" HEADER References "<{root}>"'
        )
        return max(found, default=None)

    async def _search(self, what: str) -> list[int]:
        found: list[int] = []
        for line in await self._connection.command(f"UID SEARCH {what}"):
            if line.text.upper().startswith(b"* SEARCH"):
                found += map(int, line.text.split()[2:])
        return sorted(found)

    async def _all(self, uids: Sequence[int]) -> list[Envelope]:
        found: list[Envelope] = []
        for start in range(0, len(uids), ASKED_AT_ONCE):
            chosen = uids[start : start + ASKED_AT_ONCE]
            found += await self._envelopes(",".join(map(str, chosen)))
        return sorted(found)

    async def _envelopes(self, uids: str) -> list[Envelope]:
        lines = await self._connection.command(f"UID FETCH {uids} (UID INTERNALDATE RFC822.SIZE)")
        facts = (_FACTS.match(line.text) for line in lines)
        return [
            Envelope(int(fact["uid"]), _seconds(fact["date"]), int(fact["size"] or 0))
            for fact in facts
            if fact is not None
        ]


@asynccontextmanager
async def open_folder(
    server: MailServer, user: str, password: str, folder: str
) -> AsyncIterator[MailFolder]:
    """Open a folder over a connection of its own.

    Raises:
        ImapError: the server refuses the password or the folder.
        ConnectionError: it cannot be reached.
    """
    async with connected(server) as connection:
        await connection.log_in(user, password)
        yield MailFolder(connection, await connection.command(f'SELECT "{folder}"'))


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _seconds(date: bytes) -> int:
    """Return the seconds of a date such as ``17-Jul-1996 02:44:25 -0700``; 0 for another."""
    try:
        day, month, rest = date.decode("ascii").strip().split("-", 2)
        number = _MONTHS.index(month.title()) + 1
        return int(datetime.strptime(f"{day} {number} {rest}", "%d %m %Y %H:%M:%S %z").timestamp())
    except ValueError:
        return 0


def _number(pattern: bytes, text: bytes) -> int | None:
    found = re.search(pattern, text, re.IGNORECASE)
    return int(found[1]) if found else None
