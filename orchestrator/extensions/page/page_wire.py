"""The variables and settings with which the supervisor starts the page's process."""

from pydantic import BaseModel, ConfigDict

FD_VARIABLE = "ORCHESTRATOR_PAGE_FD"
LOG_VARIABLE = "ORCHESTRATOR_LOG_LEVEL"
STORE_VARIABLE = "ORCHESTRATOR_STORE"  # with the address of a database server, if it has one
ENTRANCE_VARIABLE = "ORCHESTRATOR_PAGE_ENTRANCE"  # with the JSON of a `PageEntrance`
NUMBER = 8  # bytes of the number under which the process sends a connection


class ScreenLink(BaseModel):
    """A screen of another extension, for the navigation."""

    model_config = ConfigDict(frozen=True)

    path: str
    title: str


class PageEntrance(BaseModel):
    """The settings of `channels.web` for its process; the supervisor decides who a person is.

    ``names`` are the host's names behind a proxy, ``path`` is the page's path there. ``proxied``
    says whether that proxy may say how a browser connected, and ``identity_header`` is the header
    that names the person; empty if none does. ``screens`` are screens of other extensions.
    ``zone`` is the name of the time zone in which times are shown.
    """

    model_config = ConfigDict(frozen=True)

    names: tuple[str, ...] = ()
    path: str = ""
    proxied: bool = False
    identity_header: str = ""
    screens: tuple[ScreenLink, ...] = ()
    zone: str = "UTC"
