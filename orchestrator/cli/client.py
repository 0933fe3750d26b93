"""Client of the running daemon; every failure becomes an `OrchestratorError`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio
from pydantic import BaseModel, ValidationError

from orchestrator.cli.other_user import describe_other_daemon
from orchestrator.control.connection import open_control_connection
from orchestrator.control.daemon_answer import ANSWER_SECONDS, describe_silence
from orchestrator.control.protocol import UNKNOWN_NAME, Ack
from orchestrator.errors import NotRunningError, OrchestratorError, UnknownNameError
from orchestrator.settings import Settings
from thinker.protocol.peer import (
    NO_METHOD,
    NotificationHandler,
    Params,
    Peer,
    PeerClosedError,
    RpcError,
)

OTHER_VERSION = "the daemon runs another version; restart it"
R = TypeVar("R", bound=BaseModel)


def ask_daemon(settings: Settings, method: str, params: Params, result: type[R]) -> R:
    """Send one request to the daemon and return its answer.

    Raises:
        NotRunningError: no daemon runs, or it closed the connection.
        UnknownNameError: the request names something that does not exist.
        OrchestratorError: the daemon refused the request or did not answer in time.
    """
    return anyio.run(_ask_daemon, settings, method, params, result)


def send_order(settings: Settings, method: str, params: Params) -> None:
    """Send one request that has no result; raises as `ask_daemon` does."""
    ask_daemon(settings, method, params, Ack)


async def _ask_daemon(settings: Settings, method: str, params: Params, result: type[R]) -> R:
    async with connect_to_daemon(settings) as peer:
        return await peer.call(method, params, result, timeout=ANSWER_SECONDS)


@asynccontextmanager
async def connect_to_daemon(
    settings: Settings, notifications: Mapping[str, NotificationHandler] | None = None
) -> AsyncIterator[Peer]:
    """Connect to the daemon. Failures inside the block are raised as by `ask_daemon`."""
    connected = False
    try:
        async with open_control_connection(settings, notifications) as peer:
            connected = True
            yield peer
    except NotRunningError as error:
        if connected:
            raise
        raise NotRunningError(f"{error}{describe_other_daemon(settings.home)}") from error
    except PeerClosedError as error:
        raise NotRunningError(f"the daemon on {settings.home} stopped; start it again") from error
    except TimeoutError as error:
        raise OrchestratorError(describe_silence(settings.home)) from error
    except ValidationError as error:
        raise OrchestratorError(OTHER_VERSION) from error
    except RpcError as error:
        if error.code == NO_METHOD:
            raise OrchestratorError(OTHER_VERSION) from error
        refused = UnknownNameError if error.code == UNKNOWN_NAME else OrchestratorError
        raise refused(str(error)) from error
