"""A mail folder: which mails are new, also at a server that does not tell its next number."""

from dataclasses import replace
from urllib.parse import urlsplit

from fakes.imap_server import TerseImap
from fakes.time_limit import time_limit

from orchestrator.extensions.email.mail_folder import FolderPlace, open_folder
from orchestrator.extensions.email.mail_server import parse_mail_server


async def look(server: TerseImap, place: FolderPlace | None) -> tuple[FolderPlace, list[int]]:
    """The place after what is there, or after another ``place``; and the new mails until then."""
    address = parse_mail_server(f"imap://{urlsplit(server.url).netloc}")
    with time_limit():
        async with open_folder(address, "bot", "secret", "INBOX") as folder:
            if place is None:
                return await folder.find_end(), []
            mails = await folder.list_newer_mails(place)
            for mail in mails:
                place = place.move_after(mail, folder.validity)
            return folder.renumber_place(place), [mail.uid for mail in mails]


async def test_mails_of_before_are_not_new_without_a_next_number() -> None:
    """The bot would answer all that is in the folder."""
    async with TerseImap([3, 8]) as server:
        place, _ = await look(server, None)
        place, new = await look(server, place)
        assert new == []
        server.uids.append(9)
        assert await look(server, place) == (replace(place, uid=9), [9])


async def test_folder_that_was_numbered_anew_is_not_answered_again() -> None:
    """Its mails are known by their time, until one is new."""
    async with TerseImap([3, 8]) as server:
        place, _ = await look(server, None)
        server.uids, server.validity = [1, 2], 8
        for _ in range(2):
            place, new = await look(server, place)
            assert new == []
