"""Screens of other extensions, as the page shows them."""

from pathlib import Path

from fakes.page import page_bench
from pydantic import JsonValue

from orchestrator.extensions.page.daemon_side.page_protocol import SCREEN_SHOW, ScreenText
from orchestrator.extensions.page.page_wire import ScreenLink
from thinker.protocol.peer import INTERNAL, Params, RpcError

MOON = ScreenLink(path="moon", title="Moon")


async def test_screen_shows_markdown_and_no_html(tmp_path: Path) -> None:
    """It is in the navigation, and its parameters reach the extension."""

    async def answer(params: JsonValue) -> Params:
        return ScreenText(title="Moon", text=f"**full** <script>x</script>\n\n{params}")

    async with page_bench(tmp_path) as bench:
        bench.answers[SCREEN_SHOW], bench.app.added = answer, (MOON,)
        person = await bench.login()
        shown = await person.get("/x/moon?from=2030-01-31")
        assert "<h1>Moon</h1>" in shown.text
        assert "<strong>full</strong> &lt;script&gt;" in shown.text
        assert "2030-01-31" in shown.text
        assert 'href="/x/moon" aria-current="page">' in shown.text
        assert '<a href="/x/moon">' in (await person.get("/costs")).text


async def test_screen_is_asked_for_anew_at_each_look(tmp_path: Path) -> None:
    """What it shows may change without the journal."""
    texts = iter(("waxing", "waning"))

    async def answer(_: JsonValue) -> Params:
        return ScreenText(title="Moon", text=next(texts))

    async with page_bench(tmp_path) as bench:
        bench.answers[SCREEN_SHOW], bench.app.added = answer, (MOON,)
        person = await bench.login()
        first = await person.get("/x/moon")
        again = await person.get("/x/moon", **{"if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code) == (200, 200)
        assert "waning" in again.text


async def test_refusal_is_shown_as_what_it_says(tmp_path: Path) -> None:
    """A fault of the extension is no fault of the page."""

    async def answer(_: JsonValue) -> Params:
        raise RpcError(INTERNAL, "the screen 'Moon' failed: ValueError: no such day")

    async with page_bench(tmp_path) as bench:
        bench.answers[SCREEN_SHOW], bench.app.added = answer, (MOON,)
        shown = await (await bench.login()).get("/x/moon")
        assert shown.status_code == 500
        assert "no such day" in shown.text


async def test_screen_is_for_roles_that_read_texts(tmp_path: Path) -> None:
    """A viewer sees neither it nor the link to it, whatever the address."""
    async with page_bench(tmp_path) as bench:
        bench.app.added = (MOON,)
        viewer = await bench.login("viewer")
        shown = await viewer.get("/x/moon")
        assert shown.status_code == 403
        assert "/x/moon" not in (await viewer.get("/costs")).text
        assert SCREEN_SHOW not in {method for _, method, _ in bench.acts}


async def test_screen_that_no_extension_has_is_a_page_that_says_so(tmp_path: Path) -> None:
    """The supervisor is not asked."""
    async with page_bench(tmp_path) as bench:
        shown = await (await bench.login()).get("/x/moon")
        assert (shown.status_code, "No extension has this screen." in shown.text) == (404, True)
        assert SCREEN_SHOW not in {method for _, method, _ in bench.acts}
