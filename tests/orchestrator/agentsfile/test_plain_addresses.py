"""Addresses over which what is sent goes unencrypted over the internet."""

import pytest

from orchestrator.agentsfile.plain_addresses import find_plain_host

FAR = "http://far.example.org"


@pytest.mark.parametrize(
    ("url", "host"),
    [
        (FAR, "far.example.org"),
        ("http://8.8.8.8:80/", "8.8.8.8"),
        ("http://[2001:4860:4860::8888]/", "2001:4860:4860::8888"),
        ("https://far.example.org", None),
        ("http://localhost:8008", None),
        ("http://synapse:8008", None),
        ("http://nas.local/", None),
        ("http://host.docker.internal:1/", None),
        ("http://192.168.1.5/", None),
        ("http://100.64.0.9/", None),
        ("http://[::1]/", None),
        ("", None),
    ],
)
def test_only_what_leaves_the_network_counts(url: str, host: str | None) -> None:
    """Names and numbers of this machine and of a home's network do not."""
    assert find_plain_host(url) == host
