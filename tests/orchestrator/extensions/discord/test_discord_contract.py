"""Discord keeps the promises of a channel, on a fake of its gateway and API."""

from orchestrator.testing.channel_contract import ChannelContract


class TestDiscord(ChannelContract):
    """All promises."""
