"""A mailbox folder: find new mails and read them."""

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NamedTuple, Self

from orchestrator.extensions.email.imap_connection import (
    ImapConnection,
    ImapError,
    ImapLine,
    open_imap_connection,
)
from orchestrator.extensions.email.mail_server import MailServer

ASKED_AT_ONCE = 500  # mails
DAY = 86_400  # seconds
_FACTS = re.compile(
    rb'(?=.*\bUID (?P<uid>\d+))(?=.*\bINTERNALDATE "(?P<date>[^"]+)")'
    rb"(?:.*\bRFC822\.SIZE (?P<size>\d+))?"
)


class Envelope(NamedTuple):
    """A mail in a folder: its number, arrival time (seconds since the epoch) and size in bytes."""

    uid: int
    date: int
    size: int


@dataclass(frozen=True)
class FolderPlace:
    """The position up to which a folder is read; its text form is the channel's cursor.

    Mail numbers are valid while the folder's ``validity`` is the same. A server that changes it
    renumbers all mails: then those that arrived ``since`` the last one are new.
    """

    validity: int
    uid: int
    since: int

    @classmethod
    def parse_cursor(cls, cursor: str) -> Self | None:
        """Return the position of a cursor; None for an empty one."""
        return cls(*map(int, cursor.split(":"))) if cursor else None

    def __str__(self) -> str:
        return f"{self.validity}:{self.uid}:{self.since}"

    def move_after(self, mail: Envelope, validity: int) -> "FolderPlace":
        """Return the position after a mail of a folder with this validity."""
        return FolderPlace(validity, mail.uid, max(self.since, mail.date))


class MailFolder:
    """An open folder."""

    def __init__(self, connection: ImapConnection, selected: Sequence[ImapLine]) -> None:
        said = b"\n".join(line.text for line in selected)
        self._connection = connection
        self._size = _find_number(rb"\* (\d+) EXISTS", said) or 0
        self._next = _find_number(rb"\[UIDNEXT (\d+)\]", said)  # which not every server tells
        self.validity = _find_number(rb"\[UIDVALIDITY (\d+)\]", said) or 0

    async def find_end(self) -> FolderPlace:
        """Return the position after all present mails."""
        newest = await self._fetch_envelopes("*") if self._size else []
        since = max((mail.date + 1 for mail in newest), default=0)
        # A mail that came since the folder was opened is new, also if it is among these.
        last = max((mail.uid for mail in newest), default=0)
        return FolderPlace(self.validity, last if self._next is None else self._next - 1, since)

    def renumber_place(self, place: FolderPlace) -> FolderPlace:
        """Return a position in the folder's present numbers, after which nothing is new."""
        if place.validity == self.validity or self._next is None:
            return place
        return replace(place, validity=self.validity, uid=self._next - 1)

    async def list_newer_mails(self, place: FolderPlace) -> list[Envelope]:
        """Return the mails after a position, in order."""
        self._connection.changed = False
        if place.validity == self.validity:
            found = await self._search_mails(f"UID {place.uid + 1}:*")
            return await self._fetch_all_envelopes([uid for uid in found if uid > place.uid])
        day = datetime.fromtimestamp(max(0, place.since - DAY), UTC)
        found = await self._search_mails(f"SINCE {day.day}-{_MONTHS[day.month - 1]}-{day.year}")
        return [mail for mail in await self._fetch_all_envelopes(found) if mail.date >= place.since]

    async def wait(self) -> None:
        """Wait until there may be newer mails."""
        await self._connection.wait()

    async def read_mail(self, uid: int, *, whole: bool) -> bytes:
        """Return a mail or its head, leaving it unread; empty if it was deleted."""
        part = "" if whole else "HEADER"
        for line in await self._connection.run_command(f"UID FETCH {uid} (UID BODY.PEEK[{part}])"):
            if line.literals and _find_number(rb"\bUID (\d+)", line.text) == uid:
                return line.literals[0]
        return b""

    async def fetch_size(self, uid: int) -> int:
        """Return the size of a mail in bytes; 0 if it was deleted."""
        return max((mail.size for mail in await self._fetch_envelopes(str(uid))), default=0)

    async def mark_seen(self, uid: int) -> None:
        with suppress(ImapError):  # a read-only folder
            await self._connection.run_command(f"UID STORE {uid} +FLAGS.SILENT (\\Seen)")

    async def find_last_mail(self, root: str, sender: str) -> int | None:
        """Return the number of a sender's last mail in a thread."""
        found = await self._search_mails(
            f'FROM "{sender}" OR HEADER Message-ID "<{root}>" HEADER References "<{root}>"'
        )
        return max(found, default=None)

    async def _search_mails(self, what: str) -> list[int]:
        found: list[int] = []
        for line in await self._connection.run_command(f"UID SEARCH {what}"):
            if line.text.upper().startswith(b"* SEARCH"):
                found += map(int, line.text.split()[2:])
        return sorted(found)

    async def _fetch_all_envelopes(self, uids: Sequence[int]) -> list[Envelope]:
        found: list[Envelope] = []
        for start in range(0, len(uids), ASKED_AT_ONCE):
            chosen = uids[start : start + ASKED_AT_ONCE]
            found += await self._fetch_envelopes(",".join(map(str, chosen)))
        return sorted(found)

    async def _fetch_envelopes(self, uids: str) -> list[Envelope]:
        lines = await self._connection.run_command(
            f"UID FETCH {uids} (UID INTERNALDATE RFC822.SIZE)"
        )
        facts = (_FACTS.match(line.text) for line in lines)
        return [
            Envelope(int(fact["uid"]), _parse_date(fact["date"]), int(fact["size"] or 0))
            for fact in facts
            if fact is not None
        ]


@asynccontextmanager
async def open_folder(
    server: MailServer, user: str, password: str, folder: str
) -> AsyncIterator[MailFolder]:
    """Open a folder on a new connection.

    Raises:
        ImapError: the server refuses the password or the folder.
        ConnectionError: the server cannot be reached.
    """
    async with open_imap_connection(server) as connection:
        await connection.log_in(user, password)
        yield MailFolder(connection, await connection.run_command(f'SELECT "{folder}"'))


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _parse_date(date: bytes) -> int:
    """Return the seconds of a date such as ``17-Jul-1996 02:44:25 -0700``; 0 if malformed."""
    try:
        day, month, rest = date.decode("ascii").strip().split("-", 2)
        number = _MONTHS.index(month.title()) + 1
        return int(datetime.strptime(f"{day} {number} {rest}", "%d %m %Y %H:%M:%S %z").timestamp())
    except ValueError:
        return 0


def _find_number(pattern: bytes, text: bytes) -> int | None:
    found = re.search(pattern, text, re.IGNORECASE)
    return int(found[1]) if found else None
