"""Screens of other extensions, as the supervisor renders them."""

from collections.abc import Mapping

import anyio
import pytest

from orchestrator.extension import Screen
from orchestrator.extensions.page.daemon_side import added_screens
from orchestrator.extensions.page.daemon_side.added_screens import AddedScreens
from orchestrator.extensions.page.daemon_side.page_protocol import ScreenText
from orchestrator.extensions.page.page_wire import ScreenLink
from thinker.protocol.peer import RpcError


async def _render_query(query: Mapping[str, str]) -> str:
    return f"from {query.get('from', 'today')}"


async def test_screen_is_rendered_with_the_parameters_of_its_address() -> None:
    """Its title comes with it."""
    screens = AddedScreens([Screen("moon", "Moon", _render_query)])
    shown = await screens.render_screen({"path": "moon", "query": {"from": "2030-01-31"}})
    assert shown == ScreenText(title="Moon", text="from 2030-01-31")
    assert screens.list_links() == (ScreenLink(path="moon", title="Moon"),)


async def test_first_of_two_screens_with_the_same_path_counts() -> None:
    """So a second extension takes nothing from the first."""
    screens = AddedScreens([Screen("moon", one, _render_query) for one in ("Moon", "Other")])
    assert (await screens.render_screen({"path": "moon"})).title == "Moon"
    assert len(screens.list_links()) == 1


async def test_unknown_screen_is_refused() -> None:
    """Whoever types an address learns what is wrong."""
    with pytest.raises(RpcError, match="no extension has a screen 'sun'"):
        await AddedScreens([]).render_screen({"path": "sun"})


async def test_fault_of_an_extension_is_an_answer() -> None:
    """It names the screen and what was raised."""

    async def fail(query: Mapping[str, str]) -> str:
        raise ValueError(f"no day {query}")

    screens = AddedScreens([Screen("moon", "Moon", fail)])
    with pytest.raises(RpcError, match="the screen 'Moon' failed: ValueError: no day"):
        await screens.render_screen({"path": "moon"})
    assert "no day" in screens.problems["moon"]


async def test_screen_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page gets its answer in time, and says so."""
    monkeypatch.setattr(added_screens, "RENDER_TIMEOUT", 0.0)

    async def hang(_: Mapping[str, str]) -> str:
        await anyio.sleep_forever()
        return ""

    screens = AddedScreens([Screen("moon", "Moon", hang)])
    with pytest.raises(RpcError, match="took more than"):
        await screens.render_screen({"path": "moon"})


@pytest.mark.parametrize("path", ["", "Moon", "a/b", "..", "-x", "a" * 65])
def test_path_that_is_not_one_word_is_refused(path: str) -> None:
    """It is a part of an address."""
    with pytest.raises(ValueError, match="one word such as 'moon'"):
        Screen(path, "Moon", _render_query)
