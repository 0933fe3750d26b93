"""Screens are looked at in a real browser: nothing is cut, squeezed, or lies on something else."""

import os
from base64 import b64encode
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest
from fakes.browser import CHROMIUM
from fakes.lived_page import LivedPage, lived_page
from playwright.async_api import Page, ViewportSize

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; install Debian's"),
]
GEOMETRY = (Path(__file__).parent.parent / "fakes" / "geometry.js").read_text("utf-8")
SIZES: Sequence[ViewportSize] = ({"width": 1440, "height": 900}, {"width": 390, "height": 844})
THEMES = ("light", "dark")
UNFOLD = "document.querySelectorAll('main details').forEach((one) => { one.open = true; })"
# Rows get their heights in the frames after they come into sight, and the end is followed.
SETTLE = """() => new Promise((done) => {
  let frames = 4;
  const step = () => (frames-- ? requestAnimationFrame(step) : done());
  step();
})"""
COMPARE = (Path(__file__).parent.parent / "fakes" / "pictures.js").read_text("utf-8")
PICTURES = Path(__file__).parent / "pictures"
UPDATES = bool(os.environ.get("UPDATE_PICTURES"))  # take them anew, after a screen was changed
SCALE = 0.25  # of the pictures that are kept
MOST_APART = 40  # of 255, in one of 64 fields: what other fonts and other numbers may change


async def list_screens(page: Page, lived: LivedPage) -> list[str]:
    """All entries of the navigation, a chat, and the first of what lists lead to."""
    links = await page.locator("#menu a").evaluate_all("all => all.map(one => one.href)")
    found = [str(link) for link in dict.fromkeys(links)]
    for place in ("turns", "tasks", "inbox", "agents", "texts", "trials"):
        await page.goto(lived.user.address + place)
        inner = page.locator(f"main a[href^='/{place}/']").first
        if await inner.count():
            found.append(str(await inner.evaluate("one => one.href")))
    own = ["sets", "costs/savings", f"try/{lived.turn}", f"turns/{lived.turn}/test"]
    own += [f"fork/{lived.turn}", f"rewind/{lived.turn}", lived.chat]
    return [*found, *(lived.user.address + place for place in own)]


def name_screen(place: str) -> str:
    """The name of a screen's picture, which is the same for each turn, chat or task."""
    first, _, rest = place.partition("?")[0].strip("/").partition("/")
    name = (first or "now") + ("-one" if rest else "")
    return f"{name}-{rest.rpartition('/')[2]}" if first == "turns" and "/" in rest else name


@pytest.mark.thorough(part="page")
async def test_nothing_is_cut_hidden_or_squeezed_on_any_screen(tmp_path: Path) -> None:
    """At two sizes and in two themes, with more chats, names and rows than there is room for."""
    faults = list[str]()
    async with lived_page(tmp_path) as lived:
        page = await lived.user.logged_in()
        screens = await list_screens(page, lived)
        assert len(screens) > len(THEMES)
        for size, theme in product(SIZES, THEMES):
            await page.set_viewport_size(size)
            await page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]  # both are such
            for screen in screens:
                await page.goto(screen)
                await page.locator("h1").wait_for()
                place = f"{screen.removeprefix(lived.user.address)} {size['width']} {theme}"
                await page.evaluate(SETTLE)
                faults += [f"{place}: {fault}" for fault in await page.evaluate(GEOMETRY)]
                await page.evaluate(UNFOLD)
                await page.evaluate(SETTLE)
                faults += [f"{place} open: {fault}" for fault in await page.evaluate(GEOMETRY)]
    assert faults == []


@pytest.mark.thorough(part="page")
async def test_screens_look_as_their_pictures_do(tmp_path: Path) -> None:
    """Small pictures, so that neither a clock nor a font counts: only where what stands."""
    different = list[str]()
    async with lived_page(tmp_path) as lived:
        page = await lived.user.logged_in(scale=SCALE)
        blank = await lived.user.page()
        screens = await list_screens(page, lived)
        for size, screen in product(SIZES, screens):
            name = f"{name_screen(screen.removeprefix(lived.user.address))}-{size['width']}.png"
            await page.set_viewport_size(size)
            await page.goto(screen)
            await page.locator("h1").wait_for()
            taken, kept = await page.screenshot(), PICTURES / name
            if UPDATES:
                kept.write_bytes(taken)
            elif not kept.exists():
                different.append(f"{name} is missing")
            else:
                apart = await blank.evaluate(
                    COMPARE, [b64encode(one).decode() for one in (taken, kept.read_bytes())]
                )
                if apart > MOST_APART:
                    different.append(f"{name} differs by {apart}")
    assert different == []
