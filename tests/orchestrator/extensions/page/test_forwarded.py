"""What is believed of a proxy's headers."""

import pytest

from orchestrator.extensions.page.forwarded import ForwardedClient, parse_forwarded
from orchestrator.extensions.page.page_wire import PageEntrance

NAME = "page.example"
ENTRANCE = PageEntrance(names=(NAME,), proxied=True, identity_header="X-Forwarded-Email")
# As nginx by the manual, Caddy, `tailscale serve` and oauth2-proxy behind a proxy send them.
NGINX = {
    "x-forwarded-proto": "https",
    "x-forwarded-for": "192.0.2.9",
    "x-forwarded-email": "me@example.org",
}
CADDY = {
    "x-forwarded-proto": "https",
    "x-forwarded-host": NAME,
    "x-forwarded-for": "192.0.2.9",
}
TAILSCALE = {
    **CADDY,
    "tailscale-user-login": "me@example.org",
    "tailscale-user-name": "Me",
    "tailscale-headers-info": "https://tailscale.com/s/serve-headers",
}
OAUTH2 = {
    "x-forwarded-proto": "https",
    "x-forwarded-for": "192.0.2.9, 127.0.0.1",
    "x-forwarded-user": "4711",
    "x-forwarded-email": "me@example.org",
    "x-forwarded-preferred-username": "me",
}


def came(
    headers: dict[str, str] | list[tuple[str, str]],
    entrance: PageEntrance = ENTRANCE,
    name: str = NAME,
    client: tuple[str, int] | None = ("127.0.0.1", 1),
) -> ForwardedClient:
    """What is known of a request."""
    pairs = headers.items() if isinstance(headers, dict) else headers
    raw = [(key.encode(), value.encode()) for key, value in pairs]
    return parse_forwarded({"type": "http", "headers": raw, "client": client}, entrance, name)


@pytest.mark.parametrize("client", [("127.0.0.1", 1), ("::1", 1), None])
def test_proxy_of_this_machine_says_how_a_browser_came(client: tuple[str, int] | None) -> None:
    """By the port or by the unix socket, which has no addresses."""
    found = came(NGINX, client=client)
    assert found == ForwardedClient("", https=True, client="192.0.2.9", person="me@example.org")


@pytest.mark.parametrize(
    ("headers", "header", "person", "client"),
    [
        (CADDY, "X-Forwarded-Email", "", "192.0.2.9"),
        (TAILSCALE, "Tailscale-User-Login", "me@example.org", "192.0.2.9"),
        (OAUTH2, "X-Forwarded-Email", "me@example.org", "127.0.0.1"),
        (OAUTH2, "X-Forwarded-Preferred-Username", "me", "127.0.0.1"),
    ],
)
def test_other_proxies_are_understood(
    headers: dict[str, str], header: str, person: str, client: str
) -> None:
    """By the headers that they really set."""
    entrance = ENTRANCE.model_copy(update={"identity_header": header})
    found = came(headers, entrance)
    assert (found.https, found.person, found.client) == (True, person, client)


def test_nothing_counts_without_the_setting() -> None:
    """Nor from another machine."""
    assert came(NGINX, PageEntrance(path="/agents")) == ForwardedClient("/agents")
    assert came(NGINX, client=("192.0.2.9", 1)) == ForwardedClient()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "other.example", ""])
def test_person_counts_for_a_listed_name_alone(name: str) -> None:
    """By a local name anyone on this machine may come without the proxy."""
    assert came(NGINX, name=name).person == ""


def test_person_counts_over_https_alone() -> None:
    """And names are compared as hosts are."""
    assert came({**NGINX, "x-forwarded-proto": "http"}).person == ""
    assert came({key: NGINX[key] for key in NGINX if key != "x-forwarded-proto"}).person == ""
    entrance = ENTRANCE.model_copy(update={"names": ("Page.Example",)})
    assert came(NGINX, entrance).person == "me@example.org"


@pytest.mark.parametrize("name", ["x-forwarded-proto", "x-forwarded-email"])
def test_header_that_is_sent_twice_is_not_believed(name: str) -> None:
    """A proxy that adds its own beside the browser's leaves two."""
    twice = [*NGINX.items(), (name, NGINX[name])]
    assert came(twice).person == ""


@pytest.mark.parametrize(
    ("told", "client"),
    [
        ("198.51.100.1, 192.0.2.9", "192.0.2.9"),
        ("2001:DB8::1", "2001:db8::1"),
        ("<script>", ""),
        ("", ""),
    ],
)
def test_address_is_the_one_that_the_proxy_added(told: str, client: str) -> None:
    """What stands before it, a browser may have made up."""
    assert came({**NGINX, "x-forwarded-for": told}).client == client
