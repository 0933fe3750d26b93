"""A journal on the page without a daemon."""

from pathlib import Path
from zoneinfo import ZoneInfo

import apsw
import pytest
from fakes.golden import MOOD, restore, upgrade_program
from fakes.journal import address_of, booted, next_turn, receive, update
from fakes.page import ORIGIN
from fakes.postgresql import sqlite_only
from httpx import ASGITransport, AsyncClient

from orchestrator.errors import JournalError
from orchestrator.extensions.page.live import LiveFeed
from orchestrator.extensions.page.offline import AbsentSupervisor, open_journal_reads
from orchestrator.extensions.page.page_app import PageApp
from orchestrator.extensions.page.page_guard import PageGuard
from orchestrator.extensions.page.screens import SCREENS

ADDRESSES = [screen.path for screen in SCREENS if "{" not in screen.path]


async def test_every_screen_shows_the_journal_and_offers_no_action(tmp_path: Path) -> None:
    """To the one browser that has the code, once."""
    with booted(tmp_path) as db:
        receive(db, update(1, "what was said"))
        next_turn(db, "t1")
    with open_journal_reads(address_of(tmp_path)) as reads:
        daemon = AbsentSupervisor("c0de")
        app = PageApp(
            reads,
            daemon,
            ZoneInfo("UTC"),
            lambda: 1,
            LiveFeed(reads.read_version),
            known=daemon.find_session,
        )
        transport = ASGITransport(PageGuard(app.build_application()))
        async with AsyncClient(transport=transport, base_url=ORIGIN) as browser:
            headers = {"origin": ORIGIN}
            assert (await browser.get("/")).status_code == 401
            for code, status in (("wrong", 401), ("c0de", 303), ("c0de", 401)):
                entered = await browser.post("/in", data={"code": code}, headers=headers)
                assert entered.status_code == status
            for path in (*ADDRESSES, "/turns/t1", "/chats/telegram/1/7/"):
                page = await browser.get(path)
                assert page.status_code == (303 if path == "/chats/new" else 200), path
                assert 'action="/act/' not in page.text, path
            assert "what was said" in (await browser.get("/chats/telegram/1/7/")).text


@sqlite_only
def test_journal_of_an_older_version_is_read_in_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file stays as it is."""
    path = tmp_path / "journal.db"
    restore(path)
    db = apsw.Connection(str(path))
    version = db.execute("PRAGMA user_version").get
    db.close()
    upgrade_program(monkeypatch, MOOD)
    with open_journal_reads(path) as reads:
        assert reads.read_now(lambda found: found.execute("PRAGMA user_version").get) > version
    db = apsw.Connection(str(path))
    assert db.execute("PRAGMA user_version").get == version
    db.close()


@sqlite_only
def test_missing_journal_is_a_sentence(tmp_path: Path) -> None:
    """Nothing is made in its place."""
    with (
        pytest.raises(JournalError, match="there is no journal"),
        open_journal_reads(tmp_path / "journal.db"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
