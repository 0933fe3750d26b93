"""Fetching pages: which addresses are contacted, and how much is read."""

import ssl
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fakes.certificate import certificate
from fakes.web_pages import web_pages

from orchestrator.extensions.workspace import page_fetcher
from orchestrator.extensions.workspace.page_fetcher import (
    FetchedPage,
    PageFetcher,
    WebAddress,
    resolve_host,
)
from orchestrator.extensions.workspace.served_tool import CallFailure

PUBLIC = "93.184.216.34"


@pytest.fixture
def site() -> Iterator[tuple[int, list[str]]]:
    """The port of a web server, and what it was asked for."""
    with web_pages() as found:
        yield found


def names(**known: Sequence[str]) -> "NameServer":
    return NameServer({name.replace("_", "."): list(found) for name, found in known.items()})


class NameServer:
    """Answers with the next list of addresses of a name, and with the last one for ever."""

    def __init__(self, known: dict[str, list[str]]) -> None:
        self.known = known
        self.asked: list[str] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.known:
            return resolve_host(host, port)
        found = self.known[host]
        return (found.pop(0) if len(found) > 1 else found[0]).split()


class Diverted(httpx.AsyncHTTPTransport):
    """Notes where a connection would go, and opens one to this machine."""

    def __init__(self, contacted: list[tuple[str, int | None]]) -> None:
        super().__init__(trust_env=False)
        self._contacted = contacted

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Make a request."""
        self._contacted.append((request.url.host, request.url.port))
        request.url = request.url.copy_with(host="127.0.0.1")
        return await super().handle_async_request(request)


def fetch(fetcher: PageFetcher, url: str) -> FetchedPage:
    return fetcher.fetch_page(url, threading.Event())


def allowed(*hosts: str, seconds: float = 30, size: int = 1_000_000) -> PageFetcher:
    return PageFetcher(seconds, size, hosts)


def test_page_comes_with_its_type_and_final_address(site: tuple[int, list[str]]) -> None:
    """Redirects are followed, and names of hosts reach the server."""
    port, asked = site
    page = fetch(allowed("localhost"), f"http://LOCALHOST:{port}/to?/plain")
    assert (page.url, page.status) == (f"http://localhost:{port}/plain", 200)
    assert (page.content_type, page.data, page.cut) == ("text/plain", b"just text", False)
    assert asked == [f"localhost:{port} /to?/plain", f"localhost:{port} /plain"]


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]", "0"],
)
def test_machine_itself_is_not_fetched_from(site: tuple[int, list[str]], host: str) -> None:
    """However its address is written."""
    port, asked = site
    with pytest.raises(CallFailure, match=r"not public|cannot be fetched"):
        fetch(allowed(), f"http://{host}:{port}/plain")
    assert asked == []


def test_redirect_is_checked_like_the_first_address(site: tuple[int, list[str]]) -> None:
    """A permission for one host does not hold for another."""
    port, asked = site
    for target in (
        f"http://127.0.0.1:{port}/plain",
        "http://169.254.169.254/",
        "//127.1/",
        "file:///x",
    ):
        with pytest.raises(CallFailure, match=r"not public|not an http"):
            fetch(allowed("localhost"), f"http://localhost:{port}/to?{target}")
    assert {line.split()[0] for line in asked} == {f"localhost:{port}"}
    with pytest.raises(CallFailure, match="redirects more than 5 times"):
        fetch(allowed("localhost"), f"http://localhost:{port}/to?/to?/to?/to?/to?/to?/plain")


def test_name_with_one_private_address_is_refused() -> None:
    """Also if it has public ones, in whatever order."""
    for addresses in (f"{PUBLIC} 127.0.0.1", f"10.0.0.1 {PUBLIC}", f"{PUBLIC} ::1"):
        fetcher = replace(allowed(), resolve=names(mixed_example=[addresses]))
        with pytest.raises(CallFailure, match="not public"):
            fetch(fetcher, "http://mixed.example/")


def test_connection_goes_to_the_address_that_was_checked(site: tuple[int, list[str]]) -> None:
    """A name that leads elsewhere a moment later is asked once, and the answer is kept."""
    port, asked = site
    server = names(rebound_example=[PUBLIC, "127.0.0.1"])
    contacted: list[tuple[str, int | None]] = []
    fetcher = replace(allowed(), resolve=server, connections=lambda: Diverted(contacted))
    assert fetch(fetcher, f"http://rebound.example:{port}/plain").data == b"just text"
    assert contacted == [(PUBLIC, port)]
    assert server.asked == ["rebound.example"]
    assert asked == [f"rebound.example:{port} /plain"]
    with pytest.raises(CallFailure, match="not public"):  # the next page asks anew
        fetch(fetcher, f"http://rebound.example:{port}/plain")
    assert len(contacted) == 1


def test_next_address_is_tried(site: tuple[int, list[str]]) -> None:
    """All of them were checked, and a host need not answer on each."""
    port, _ = site
    fetcher = replace(allowed("two.example"), resolve=names(two_example=["127.0.0.2 127.0.0.1"]))
    assert fetch(fetcher, f"http://two.example:{port}/plain").data == b"just text"
    none = replace(allowed("two.example"), resolve=names(two_example=["127.0.0.2 127.0.0.3"]))
    with pytest.raises(CallFailure, match=r"Connect call failed \('127.0.0.3'"):
        fetch(none, f"http://two.example:{port}/plain")
    with pytest.raises(CallFailure, match="has no address"):
        fetch(replace(none, resolve=names(two_example=[""])), f"http://two.example:{port}/plain")


def test_certificate_must_be_that_of_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the connection goes to an address."""
    signed = certificate(tmp_path)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(signed)
    asked_for: list[str | None] = []
    theirs.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    trusted = ssl.create_default_context(cafile=str(signed))
    monkeypatch.setattr(page_fetcher, "_build_tls_context", lambda: trusted)
    other = replace(allowed("localhost", "o.example"), resolve=names(o_example=["127.0.0.1"]))
    with web_pages(theirs) as (port, asked):
        assert fetch(other, f"https://localhost:{port}/plain").data == b"just text"
        with pytest.raises(CallFailure, match=r"not valid for 'o\.example'"):
            fetch(other, f"https://o.example:{port}/plain")
        with pytest.raises(CallFailure, match=r"not valid for '127\.0\.0\.1'"):
            fetch(allowed("127.0.0.1"), f"https://127.0.0.1:{port}/plain")
    assert asked == [f"localhost:{port} /plain"]
    assert asked_for == ["localhost", "o.example", None]


def test_proxy_of_the_environment_is_not_asked(
    site: tuple[int, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would choose the address."""
    port, _ = site
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert fetch(allowed("localhost"), f"http://localhost:{port}/plain").data == b"just text"


def test_page_that_breaks_off_is_shown_as_far_as_it_came(site: tuple[int, list[str]]) -> None:
    """Its server promised more."""
    port, _ = site
    page = fetch(allowed("localhost"), f"http://localhost:{port}/short")
    assert (page.data, page.cut) == (b"half", True)


def test_size_is_limited_also_of_what_is_unpacked(site: tuple[int, list[str]]) -> None:
    """A few kilobytes do not become fifty megabytes."""
    port, _ = site
    for path, kind in (("bomb", b"0"), ("endless", b"x")):
        page = fetch(allowed("localhost"), f"http://localhost:{port}/{path}")
        assert page.cut
        assert page.data == kind * 1_000_000


def test_time_is_limited_also_for_a_server_that_drips(site: tuple[int, list[str]]) -> None:
    """Each byte comes in time, the page does not."""
    port, _ = site
    with pytest.raises(CallFailure, match="took too long"):
        fetch(allowed("localhost", seconds=0.5), f"http://localhost:{port}/drip")


def test_canceled_fetch_ends(site: tuple[int, list[str]]) -> None:
    """While it reads."""
    port, asked = site
    cancelled = threading.Event()
    problems: list[str] = []

    def run() -> None:
        try:
            allowed("localhost").fetch_page(f"http://localhost:{port}/drip", cancelled)
        except CallFailure as failure:
            problems.append(str(failure))

    thread = threading.Thread(target=run)
    thread.start()
    while not asked:
        thread.join(0.01)
    cancelled.set()
    thread.join()
    assert "it was cancelled" in problems[0]


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://example.org/", "file:///etc/passwd", "gopher://x", "//example.org", "example.org"),
        *("http://", "http:///x", "http://user:word@example.org/", "http://a@b", "http://x:99999/"),
        *(
            "http://example.org:22/",
            "https://example.org:25/",
            "http://a b/",
            "http://x/\r\nHost: y",
        ),
        *("http://x/" + "a" * 5000, "http://[::1", "data:text/html,x", "javascript:1"),
    ],
)
def test_what_is_no_page_is_refused(url: str) -> None:
    """Other schemes, passwords, ports of other services, and line breaks."""
    with pytest.raises(CallFailure):
        WebAddress.parse(url)


def test_address_is_written_as_servers_expect() -> None:
    """Names of hosts and paths in other scripts, and no fragment."""
    assert WebAddress.parse("https://bücher.example/ä?q=ö#part").url == (
        "https://xn--bcher-kva.example/%C3%A4?q=%C3%B6"
    )
