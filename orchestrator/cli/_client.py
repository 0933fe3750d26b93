"""Asking a running daemon, with every failure in our own words."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from pydantic import BaseModel, ValidationError

from orchestrator.control.protocol import connect
from orchestrator.errors import NotRunningError, OrchestratorError
from orchestrator.settings import Settings
from thinker.protocol.peer import NotificationHandler, Params, Peer, PeerClosedError, RpcError

ANSWER_SECONDS = 30.0  # what a healthy daemon never needs, even while its disk is slow
R = TypeVar("R", bound=BaseModel)


def ask(settings: Settings, method: str, params: Params, result: type[R]) -> R:
    """One request to the daemon, and its answer.

    Raises:
        NotRunningError: no daemon runs, or it went away.
        OrchestratorError: it refused, or did not answer.
    """
    return anyio.run(_ask, settings, method, params, result)


async def _ask(settings: Settings, method: str, params: Params, result: type[R]) -> R:
    async with connection(settings) as peer:
        return await peer.call(method, params, result, timeout=ANSWER_SECONDS)


@asynccontextmanager
async def connection(
    settings: Settings, notifications: Mapping[str, NotificationHandler] | None = None
) -> AsyncIterator[Peer]:
    """A peer of the daemon. What fails inside the block is raised as `ask` says."""
    try:
        async with connect(settings, notifications) as peer:
            yield peer
    except PeerClosedError as error:
        raise NotRunningError(f"the daemon on {settings.home} went away; start it again") from error
    except TimeoutError as error:
        raise OrchestratorError(
            f"the daemon on {settings.home} does not answer; its log says what it does"
        ) from error
    except ValidationError as error:
        raise OrchestratorError("the daemon is of another version; restart it") from error
    except RpcError as error:
        raise OrchestratorError(str(error)) from error
