"""What a Matrix account without a homeserver says."""

import pytest

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.channel_folders.channel_host import ChannelHost
from orchestrator.extensions.matrix.matrix_channel import connect
from orchestrator.testing.loopback import find_free_port
from thinker.protocol.sandbox import SandboxReport


async def test_homeserver_that_cannot_be_reached_is_said_with_the_setting_to_check() -> None:
    """Not in the words of the library alone."""
    options = {"homeserver": f"http://127.0.0.1:{find_free_port()}", "user": "@bot:test.local"}
    channel = connect(options, {"MATRIX_ACCESS_TOKEN": "t"})
    with pytest.raises(SendError, match=r"check channels\.matrix\.homeserver") as failed:
        await channel.run(ChannelHost(channel, SandboxReport("full")))
    await channel.close()
    assert failed.value.outcome is SendOutcome.NOT_SENT
