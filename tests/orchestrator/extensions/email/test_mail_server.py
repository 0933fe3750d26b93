"""Addresses of mail servers: what agents.json admits can be connected to."""

import re

import pytest

from orchestrator.agentsfile.channel_kinds import load_channel_kinds
from orchestrator.extensions.email.mail_server import MailServer, parse_mail_server


@pytest.mark.parametrize(
    ("port", "connected"), [("", 993), (":1", 1), (":143", 143), (":65535", 65535)]
)
def test_port_that_is_admitted_is_the_one_that_is_asked(port: str, connected: int) -> None:
    """Without one it is that of the protocol."""
    url = f"imaps://mail.example{port}"
    assert re.fullmatch(load_channel_kinds()["email"].options["imap"].pattern, url)
    assert parse_mail_server(url) == MailServer("imap", "mail.example", connected, tls=True)


@pytest.mark.parametrize("port", [":0", ":00", ":65536", ":70000", ":99999", ":x", ":"])
@pytest.mark.parametrize("option", ["imap", "smtp"])
def test_port_that_cannot_be_is_refused_where_it_is_written(option: str, port: str) -> None:
    """The channel's process could not begin with it."""
    pattern = load_channel_kinds()["email"].options[option].pattern
    assert not re.fullmatch(pattern, f"{option}://mail.example{port}")
