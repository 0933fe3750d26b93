"""Which addresses are on this machine or its network."""

import pytest

from thinker.protocol.local_addresses import is_local_address


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8080",
        "[::1]:8080",
        "192.168.1.20:11434",
        "10.0.0.7",
        "172.16.0.4",
        "169.254.3.4",
        "[fd12::5]:1234",
        "[fe80::1%25eth0]",
        "localhost",
        "ollama:11434",
        "Box.local",
        "board.lan.",
        "host.docker.internal:11434",
    ],
)
def test_servers_at_home_are_local(host: str) -> None:
    """By loopback, private and link-local addresses, and by names that only a home network has."""
    assert is_local_address(f"http://{host}/v1")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1",
        "http://8.8.8.8/v1",
        "https://[2001:4860:4860::8888]/v1",
        "https://llm.example/v1",
        "http://local.example/v1",
        "",
        "http://[broken/v1",
    ],
)
def test_servers_elsewhere_are_not_local(url: str) -> None:
    """Nor is what is not an address."""
    assert not is_local_address(url)
