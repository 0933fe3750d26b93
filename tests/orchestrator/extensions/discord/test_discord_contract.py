"""Discord keeps the promises of a channel, on a fake of its gateway and API."""

from orchestrator.extensions.channel_folders.testing.channel_tests import ChannelContract


class TestDiscord(ChannelContract):
    """All promises."""
