"""A message that Discord did not take says why."""

from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest

from orchestrator.channel_api import SendError, SendOutcome
from orchestrator.extensions.discord.discord_errors import translate_errors


def _answer(status: int, body: Any, **headers: str) -> discord.HTTPException:
    kinds = {403: discord.Forbidden, 404: discord.NotFound}
    kind = discord.DiscordServerError if status >= 500 else kinds.get(status, discord.HTTPException)
    response = SimpleNamespace(status=status, reason="", headers=headers)
    return kind(cast("Any", response), body)


@pytest.mark.parametrize(
    ("error", "outcome", "retry_after"),
    [
        (
            _answer(400, {"code": 50035, "message": "Invalid Form Body"}),
            SendOutcome.PERMANENT,
            None,
        ),
        (_answer(403, {"code": 50007, "message": "Cannot send"}), SendOutcome.PERMANENT, None),
        (_answer(403, "<html>blocked</html>"), SendOutcome.NOT_SENT, 60),
        (_answer(404, {"code": 10003, "message": "Unknown Channel"}), SendOutcome.PERMANENT, None),
        (_answer(401, {"code": 0, "message": "401"}), SendOutcome.NOT_SENT, 60),
        (_answer(429, "slow", **{"Retry-After": "12.5"}), SendOutcome.NOT_SENT, 12.5),
        (_answer(429, "slow"), SendOutcome.NOT_SENT, 60),
        (_answer(503, "down"), SendOutcome.UNKNOWN, None),
        (discord.RateLimited(8.5), SendOutcome.NOT_SENT, 8.5),
        (ConnectionResetError("gone"), SendOutcome.UNKNOWN, None),
    ],
)
def test_each_failure_tells_what_is_known(
    error: Exception, outcome: SendOutcome, retry_after: float | None
) -> None:
    """Whether the message arrived, and when to go on."""
    with pytest.raises(SendError) as caught, translate_errors():
        raise error
    assert (caught.value.outcome, caught.value.retry_after) == (outcome, retry_after)
