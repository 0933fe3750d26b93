"""What agents.json says of Matrix."""

from fakes.agents_file import WORK, parsed

SECTION = {"homeserver": "http://far.example.org", "user": "@bot:far.example.org"}


def test_server_that_is_sent_the_token_unencrypted_is_told() -> None:
    """At its address."""
    found = parsed(WORK, channels={"matrix": SECTION}).problems
    (problem,) = [problem for problem in found if "unencrypted" in problem.message]
    assert problem.path == "channels.matrix.homeserver"
    assert "sends its token and all messages unencrypted to far.example.org" in problem.message
