"""The page below a path of a proxy."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fakes.page import ORIGIN, PageBench, Person, page_bench

from orchestrator.control import protocol
from orchestrator.extensions.page.page_settings import PageSettings
from orchestrator.extensions.page.screens import SCREENS
from orchestrator.extensions.page.static_files import STATIC

PREFIX = "/agents"
BELOW = PageSettings(path=PREFIX)
ADDRESSES = [s.path for s in SCREENS if not {"{", "."} & set(s.path)]


class Addresses(HTMLParser):
    """Every attribute of a page that is an address of its host."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect, whatever the tag."""
        del tag
        self.found += [value for name, value in attrs if value and _leads(name, value)]


def _leads(name: str, value: str) -> bool:
    return value.startswith("/") and name not in {"value", "content"}


async def login(bench: PageBench) -> Person:
    """Someone who is logged in below the prefix."""
    bench.web = BELOW
    return await bench.login()


@pytest.mark.parametrize("path", [*ADDRESSES, "/manual/page", "/chats/web/local/ann/x/", "/in"])
async def test_every_address_on_a_screen_is_below_the_path(tmp_path: Path, path: str) -> None:
    """Links, forms, files of the front end; on the login page as well."""
    async with page_bench(tmp_path) as bench:
        person = await login(bench)
        answer = await person.get(PREFIX + path)
        if answer.status_code == 303:
            assert answer.headers["location"].startswith(f"{PREFIX}/")
            return
        assert answer.status_code == 200
        assert int(answer.headers["content-length"]) == len(answer.content)
        found = Addresses(answer.text).found
        assert found
        assert [address for address in found if not address.startswith(f"{PREFIX}/")] == []


async def test_without_a_path_nothing_changes(tmp_path: Path) -> None:
    """Addresses begin at the root."""
    async with page_bench(tmp_path) as bench:
        person = await bench.login()
        assert "/" in Addresses((await person.get("/")).text).found


async def test_files_forms_and_the_way_back_work_below_the_path(tmp_path: Path) -> None:
    """A form leads back to where it was sent from, whatever prefix there is."""
    async with page_bench(tmp_path) as bench:
        person = await login(bench)
        page = (await person.get(f"{PREFIX}/tasks?week=2026-03-02")).text
        script = re.search(r'src="([^"]+stream.js)"', page)
        assert script is not None
        assert (await person.get(script[1])).headers["content-type"].startswith("text/javascript")
        sent = await person.browser.post(
            f"{PREFIX}/act/{protocol.RELOAD}",
            data={
                "csrf": _field(page, "csrf"),
                "once": "form-0001",
                "back": "/tasks?week=2026-03-02",
            },
            headers={"origin": ORIGIN},
        )
        assert sent.headers["location"] == f"{PREFIX}/tasks?week=2026-03-02"
        assert bench.acts == [("web:ann", protocol.RELOAD, {})]


async def test_text_of_others_stays_as_it_is(tmp_path: Path) -> None:
    """What only looks like an address is none."""
    async with page_bench(tmp_path) as bench:
        person = await login(bench)
        answer = await person.get(
            f"{PREFIX}/turns",
        )
        assert answer.status_code == 200
        shown = await person.get(f'{PREFIX}/turns?agent=" href="/x&chat=<a href="/y">')
        assert f'href="{PREFIX}/x' not in shown.text
        assert f'href="{PREFIX}/y' not in shown.text


def test_scripts_begin_addresses_at_the_root_of_the_page() -> None:
    """A script that wrote `/…` would leave the path."""
    for file in STATIC.glob("*.js"):
        own = file.name != "idiomorph.js"
        assert not own or re.findall(r"[\"'`]/[a-z]", file.read_text()) == [], file.name


def _field(page: str, name: str) -> str:
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]
