"""Translate discord.py's failures into outcomes of a message."""

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import discord

from orchestrator.channel_api import SendError, SendOutcome

REFUSED = 60.0  # seconds until a refused login is tried again
TOKEN_REFUSED = (
    "Discord refuses DISCORD_BOT_TOKEN; reset the token at"  # noqa: S105 - a sentence
    " https://discord.com/developers/applications (Bot) and put the new one in keys.env"
)
NO_CONTENT = (
    "Discord does not let the bot read messages; switch on Message Content Intent at"
    " https://discord.com/developers/applications (Bot)"
)
TOO_FAST = "Discord asks to slow down"
BEHIND_A_WALL = "something in front of Discord refuses the request"
BAD_TOKEN, NO_INTENT = 4004, 4014  # codes with which the gateway closes
UNKNOWN_MESSAGE = 10008  # code of an error


@contextmanager
def translate_errors(
    *, edit: bool = False, lost: SendOutcome = SendOutcome.UNKNOWN
) -> Iterator[None]:
    """Raise the library's failures as `SendError`; ``edit`` says that a message is changed.

    ``lost`` is the outcome if there is no answer.

    Raises:
        SendError: with the known outcome.
    """
    try:
        yield
    except discord.RateLimited as error:
        raise SendError(TOO_FAST, SendOutcome.NOT_SENT, error.retry_after) from error
    except discord.LoginFailure as error:
        raise SendError(TOKEN_REFUSED, SendOutcome.NOT_SENT, REFUSED) from error
    except discord.ConnectionClosed as error:
        reasons = {BAD_TOKEN: TOKEN_REFUSED, NO_INTENT: NO_CONTENT}
        reason = reasons.get(error.code, f"Discord closed the connection ({error.code})")
        wait = REFUSED if error.code in reasons else None
        raise SendError(reason, SendOutcome.NOT_SENT, wait) from error
    except discord.HTTPException as error:
        raise _build_send_error(error, edit=edit, lost=lost) from error
    except aiohttp.ClientConnectorError as error:
        raise SendError(f"Discord cannot be reached: {error}", SendOutcome.NOT_SENT) from error
    except (aiohttp.ClientError, ConnectionError) as error:
        raise SendError(f"Discord gave no answer: {error}", lost) from error


def _build_send_error(error: discord.HTTPException, *, edit: bool, lost: SendOutcome) -> SendError:
    words = f"discord: {error.text or error.status}"[:500]
    if error.status == 401:  # noqa: PLR2004 - unauthorized
        return SendError(TOKEN_REFUSED, SendOutcome.NOT_SENT, REFUSED)
    if error.status == 429:  # noqa: PLR2004 - too many requests
        wait = error.response.headers.get("Retry-After", "")
        seconds = float(wait) if wait.replace(".", "", 1).isdecimal() else REFUSED
        return SendError(TOO_FAST, SendOutcome.NOT_SENT, seconds)
    if error.status >= 500:  # noqa: PLR2004 - a fault of the server
        return SendError(words, lost)
    if error.status == 403 and not error.code:  # noqa: PLR2004 - Discord's own have a code
        return SendError(BEHIND_A_WALL, SendOutcome.NOT_SENT, REFUSED)
    if edit and error.code == UNKNOWN_MESSAGE:
        return SendError(words, SendOutcome.GONE)
    return SendError(words, SendOutcome.PERMANENT)
