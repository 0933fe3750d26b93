"""Setting up in a daemon: the requests of the page and of commands."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import anyio
from pydantic import JsonValue, ValidationError

from orchestrator.control.protocol import PAIR_APPROVE, UNKNOWN_NAME
from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extension import DaemonView, Part
from orchestrator.extensions.setup import setup_requests as names
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.known_people import KnownPeople
from thinker.protocol.peer import FAILED, INVALID_PARAMS, Params, RequestHandler, RpcError

if TYPE_CHECKING:
    from orchestrator.extensions.setup.setup_desk import SetupDesk

METHODS = (
    names.SETUP_STATE,
    names.SETUP_OFFERS,
    names.SETUP_MODEL,
    names.SETUP_BOT,
    names.KEYS_LIST,
    names.KEYS_SET,
    names.KEYS_REMOVE,
)


class SetupPart(Part):
    """Answers requests to set up a running daemon, and about the people who may write to it."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._text = AgentsText(daemon)  # one, so that no two requests write at once
        self._people = KnownPeople(daemon, self._text)
        self._desk: SetupDesk | None = None  # before the first request
        self._loading = anyio.Lock()

    def list_authored_methods(self, by: str) -> Mapping[str, RequestHandler]:
        return {
            **{name: partial(self._answer_request, by, name) for name in METHODS},
            names.PEOPLE_LIST: partial(_answer, self._people.list_people),
            PAIR_APPROVE: partial(_answer, partial(self._people.approve_chat, by)),
        }

    async def _answer_request(self, by: str, method: str, params: JsonValue) -> Params:
        async with self._loading:
            if self._desk is None:
                make = self.daemon.machine.in_thread
                self._desk = await make(_make_desk, self.daemon, self._text)
        return await _answer(self._desk.build_methods(by)[method], params)


async def _answer(handler: RequestHandler, params: JsonValue) -> Params:
    """Answer a request; a fault of its sender becomes an error that says what to do."""
    try:
        return await handler(params)
    except ValidationError as error:
        raise RpcError(INVALID_PARAMS, _describe_fields(error)) from None
    except OrchestratorError as error:
        unknown = isinstance(error, UnknownNameError)
        raise RpcError(UNKNOWN_NAME if unknown else FAILED, str(error)) from error


def _make_desk(daemon: DaemonView, text: AgentsText) -> "SetupDesk":
    """Load what requests need: a client of the web, which few daemons use."""
    from orchestrator.extensions.setup.setup_desk import SetupDesk

    return SetupDesk(daemon, text)


def _describe_fields(error: ValidationError) -> str:
    """Return what is wrong with each field, without its value, which may be a secret."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'the request'}: {one['msg']}" for one in faults
    )
