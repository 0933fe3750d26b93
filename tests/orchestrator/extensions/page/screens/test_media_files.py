"""Files of chats: served to those who see the chat, and never opened as a page."""

from dataclasses import replace
from pathlib import Path

import pytest
from fakes.journal import booted, receive, update
from fakes.page import PageBench, page_bench

from orchestrator.channel_api import Attachment
from orchestrator.extensions.page.daemon_side.page_protocol import MAX_FILES, WEB_SEND
from orchestrator.journal.db.database import Database
from orchestrator.journal.turns import stored_files

PNG = b"\x89PNG\r\n\x1a\nx"
HTML = b"<script>alert(1)</script>"
ROLES = {"viewer": 404, "approver": 404, "chat": 404, "operator": 200}


def attached(db: Database, number: int, chat: str, name: str, data: bytes) -> str:
    """The address of a file that came with a message to a chat of the page."""
    file = Attachment("", name, name, data)
    came = replace(update(number, "look", chat), channel="web", bot_id="local", update_id=None)
    receive(db, replace(came, attachments=(file,)))
    return f"/media/{stored_files.store_file(db, data, '', 1)}"


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    """A picture of ann's chat, and a page of bob's."""
    with booted(tmp_path) as db:
        return attached(db, 1, "ann/x", "cat.png", PNG), attached(db, 2, "bob/x", "a\r\nb", HTML)


async def test_picture_is_shown_and_all_else_is_saved(
    tmp_path: Path, places: tuple[str, str]
) -> None:
    """Its bytes decide; nothing in it can act, and its name cannot end the header."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        picture, page = [await person.get(place) for place in places]
    assert (picture.content, picture.headers["content-type"]) == (PNG, "image/png")
    assert picture.headers["content-disposition"] == "inline; filename*=UTF-8''cat.png"
    assert (page.content, page.headers["content-type"]) == (HTML, "application/octet-stream")
    assert page.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20b"
    for answer in (picture, page):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(("role", "status"), ROLES.items())
async def test_file_is_for_those_who_see_its_chat(
    tmp_path: Path, places: tuple[str, str], role: str, status: int
) -> None:
    """The own chats of a role that chats; all for the operator; a stranger logs in first."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login(role)
        assert (await person.get(places[1])).status_code == status
        own = 200 if role in ("chat", "operator") else status
        assert (await person.get(places[0])).status_code == own
        assert (await bench.browser().get(places[0])).status_code == 401
        for wrong in ("0" * 64, "x", "%00", "..%2f..%2fjournal.db", places[0][7:19]):
            answer = await person.get(f"/media/{wrong}")
            assert answer.status_code == 404


async def test_file_whose_bytes_are_gone_is_named(tmp_path: Path, places: tuple[str, str]) -> None:
    """In its chat, and at its address."""
    with booted(tmp_path) as db:
        db.execute("DELETE FROM media")
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        assert (await person.get(places[0])).status_code == 404
        shown = (await person.get("/chats/web/local/ann/x/")).text
    assert "cat.png, removed because of its age" in shown


async def sent(bench: PageBench, *names: str) -> int:
    """The status after a form with files."""
    person = await bench.login("chat")
    fields = {"csrf": "", "once": "form-0001", "chat": "ann/x", "text": ""}
    return (await person.send(WEB_SEND, fields, [(name, b"x") for name in names])).status_code


async def test_form_with_files_is_one_of_the_page_as_any_other(tmp_path: Path) -> None:
    """A few files, with names, of the own chat; and never without its session's value."""
    async with page_bench(tmp_path) as bench:
        assert await sent(bench, "a.txt", "b.txt") == 303
        assert [item["name"] for item in bench.acts[0][2]["files"]] == ["a.txt", "b.txt"]  # type: ignore[index,union-attr,call-overload]  # as JSON has it
        assert await sent(bench, *["a.txt"] * (MAX_FILES + 1)) == 400
        person = await bench.login("chat")
        person.token = "other"
        fields = {"once": "form-0002", "chat": "ann/x", "text": ""}
        assert (await person.send(WEB_SEND, fields, [("a", b"x")])).status_code == 403
        assert len(bench.acts) == 1


async def test_sound_is_played_in_its_chat(tmp_path: Path) -> None:
    """Without leaving the page, and by no other page; a name does not make a sound of a file."""
    with booted(tmp_path) as db:
        file = Attachment("", "say", "say.ogg", b"OggS\0\2")
        came = replace(update(1, "hear", "ann/x"), channel="web", bot_id="local", update_id=None)
        receive(db, replace(came, attachments=(file,)))
        place = f"/media/{stored_files.store_file(db, b'OggS' + bytes([0, 2]), 'audio/ogg', 1)}"
        forged = attached(db, 2, "ann/x", "b.ogg", HTML)
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        shown = await person.get("/chats/web/local/ann/x/")
        sound, page = await person.get(place), await person.get(forged)
    assert (
        f'<audio src="{place}" controls preload="none" aria-label="say.ogg"></audio>' in shown.text
    )
    assert "media-src 'self'" in shown.headers["content-security-policy"]
    assert (sound.headers["content-type"], sound.content[:4]) == ("audio/ogg", b"OggS")
    assert sound.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    assert page.headers["content-type"] == "application/octet-stream"
