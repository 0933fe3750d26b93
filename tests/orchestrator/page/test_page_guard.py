"""What the page refuses by the head of a request."""

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers

from orchestrator.page.page_guard import PageGuard

GUARD = PageGuard(Starlette(), ["page.example"])
LOCAL = {"host": "localhost:8485"}
OWN = {**LOCAL, "origin": "http://localhost:8485"}
BEHIND = {"host": "page.example", "x-forwarded-proto": "https"}


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", LOCAL),
        ("GET", {"host": "orchestrator.localhost:8485"}),
        ("GET", {"host": "127.0.0.1"}),
        ("GET", {"host": "[::1]:9"}),
        ("POST", OWN),
        ("POST", {**OWN, "sec-fetch-site": "same-origin"}),
        ("GET", BEHIND),
        ("POST", {**BEHIND, "origin": "https://page.example"}),
    ],
)
def test_own_requests_pass(method: str, headers: dict[str, str]) -> None:
    """Names of this machine, and those of agents.json behind https."""
    assert GUARD.refusal(method, Headers(headers)) is None


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", {}),
        ("GET", {"host": "evil.example"}),
        ("GET", {"host": "localhost.evil.example"}),
        ("GET", {"host": "localhost:8485@evil"}),
        ("GET", {"host": "page.example"}),
        ("POST", LOCAL),
        ("POST", {**LOCAL, "origin": "null"}),
        ("POST", {**LOCAL, "origin": "http://localhost:8484"}),
        ("POST", {**OWN, "sec-fetch-site": "same-site"}),
        ("POST", {**BEHIND, "origin": "http://page.example"}),
        ("PUT", OWN),
        ("DELETE", OWN),
    ],
)
def test_others_are_refused(method: str, headers: dict[str, str]) -> None:
    """Each with a sentence."""
    refused = GUARD.refusal(method, Headers(headers))
    assert refused is not None
    assert refused[1]


def test_refused_name_is_told_which_setting_allows_it() -> None:
    """A bare refusal is what people stumble over."""
    refused = GUARD.refusal("GET", Headers({"host": "box.example"}))
    assert refused is not None
    assert "channels.web.names" in refused[1]
