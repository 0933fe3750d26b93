"""How the supervisor starts the page's process; what they say then is in `control`."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

PageRole: TypeAlias = Literal["viewer", "chat", "approver", "operator"]
FD_VARIABLE = "ORCHESTRATOR_PAGE_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"
STORE_VARIABLE = "ORCHESTRATOR_STORE"  # with the address of a database server, if it has one
ENTRANCE_VARIABLE = "ORCHESTRATOR_PAGE_ENTRANCE"  # with the JSON of a `PageEntrance`
NUMBER = 8  # bytes of the number under which the process sends a connection


class PageEntrance(BaseModel):
    """What of `channels.web` its process needs; who a person is, the supervisor decides.

    ``names`` are those of the host behind a proxy, ``path`` is where the page begins there.
    ``proxied`` tells whether that proxy may say how a browser came, and ``identity_header`` by
    which header it names the person; empty if it does not.
    """

    model_config = ConfigDict(frozen=True)

    names: tuple[str, ...] = ()
    path: str = ""
    proxied: bool = False
    identity_header: str = ""
