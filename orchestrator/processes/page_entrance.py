"""How requests reach the page: what its process has to know of the proxy before it."""

from pydantic import BaseModel, ConfigDict

ENTRANCE_VARIABLE = "ORCHESTRATOR_PAGE_ENTRANCE"  # with its JSON


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
