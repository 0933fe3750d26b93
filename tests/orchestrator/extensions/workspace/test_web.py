"""The tools for the web, in the process that serves them."""

import sys
import threading
from collections.abc import Iterator

import pytest
from fakes.server_client import ServerClient, serving
from fakes.web_pages import web_pages

from orchestrator.extensions.workspace.served_tool import Arguments, CallFailure
from orchestrator.extensions.workspace.web import WebTools
from orchestrator.extensions.workspace.web_settings import WebSettings

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a web server."""
    with web_pages() as (port, _):
        yield f"http://localhost:{port}"


@pytest.fixture(scope="module")
def client(site: str) -> Iterator[ServerClient]:
    """The server of an agent that may fetch from it, and search with it."""
    settings = WebSettings(search=site, private=("localhost",), seconds=60, max_bytes=2_000_000)
    with serving("web", settings.to_json()) as found:
        yield found


def test_page_becomes_readable_text(client: ServerClient, site: str) -> None:
    """With its title and address, without navigation and scripts."""
    told = client.call("fetch", url=f"{site}/to?/article")
    assert told.startswith(f"{site}/article (HTTP 200, text/html)\nTitle: News & more\n")
    assert "# Headline" in told
    assert "[a link](https://example.org/)" in told
    assert "- one\n- two" in told
    assert "Home" not in told
    assert "var a" not in told
    assert "Draußen ist es schön." in client.call("fetch", url=f"{site}/latin")


def test_json_and_text_come_as_they_are(client: ServerClient, site: str) -> None:
    """And what is no text is refused."""
    assert client.call("fetch", url=f"{site}/json").endswith('\n{"a": [1]}')
    assert client.call("fetch", url=f"{site}/plain").endswith("\njust text")
    assert "(HTTP 404, text/plain)\n\nnot here" in client.call("fetch", url=f"{site}/none")
    assert "is application/pdf with 8 bytes, and no text" in client.call("fetch", url=f"{site}/pdf")


def test_long_page_comes_in_parts(client: ServerClient, site: str) -> None:
    """Each says where the next begins."""
    told = client.call("fetch", url=f"{site}/long")
    assert told.endswith("[60000 more characters; go on with start 40000]")
    last = client.call("fetch", url=f"{site}/long", start=99_990)
    assert last.endswith("\n0123456789")


def test_hostile_page_holds_nothing(client: ServerClient, site: str) -> None:
    """Neither a deep tree nor one that unpacks without end."""
    assert "(HTTP 200, text/html)" in client.call("fetch", url=f"{site}/deep")
    assert "only the first 2000000 bytes" in client.call("fetch", url=f"{site}/bomb")


def test_other_hosts_of_the_machine_are_closed(client: ServerClient, site: str) -> None:
    """The permission is for a name."""
    assert "not public" in client.call("fetch", url=site.replace("localhost", "127.0.0.1"))


def test_search_asks_the_configured_server(client: ServerClient) -> None:
    """One line for each part of a result."""
    told = client.call("search", query="two words & more")
    assert told == "1. A page\nhttps://example.org/\nq=two+words+%26+more&format=json"


def test_search_is_offered_only_where_it_is_set_up() -> None:
    """A model that calls it all the same is told what an operator may do."""
    settings = WebSettings(search=None, private=(), seconds=5, max_bytes=1000)
    with serving("web", settings.to_json()) as client:
        assert [tool["name"] for tool in client.ask("tools/list")["tools"]] == ["fetch"]
        assert "searching is not set up" in client.call("search", query="x")


def test_both_tools_only_read(client: ServerClient) -> None:
    """So that they may run at the same time, and again after a crash."""
    hints = [tool["annotations"] for tool in client.ask("tools/list")["tools"]]
    assert [(hint["readOnlyHint"], hint["openWorldHint"]) for hint in hints] == [(True, True)] * 2


def test_missing_libraries_are_answered_with_the_line_to_type(
    site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text that needs no parser is read without."""
    tools = WebTools(WebSettings("ddgs", ("localhost",), 60, 1000))
    monkeypatch.setitem(sys.modules, "html_to_markdown", None)
    monkeypatch.setitem(sys.modules, "ddgs", None)

    def given(**values: str) -> Arguments:
        return Arguments(values, threading.Event())

    assert tools.fetch_page(given(url=f"{site}/plain")).endswith("just text")
    with pytest.raises(CallFailure, match=r"operator .*pip install '.*\[workspace\]'$"):
        tools.fetch_page(given(url=f"{site}/article"))
    with pytest.raises(CallFailure, match=r"operator .*pip install '.*\[search\]'$"):
        tools.search_web(given(query="x"))
