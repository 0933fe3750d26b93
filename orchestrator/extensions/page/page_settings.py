"""Settings of the page."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from orchestrator.agentsfile.channel_settings import LocalChannel
from orchestrator.agentsfile.field_types import (
    HEADER_NAME,
    ConfigModel,
    HostName,
    PathPrefix,
    Person,
)
from orchestrator.control.roles import PageRole


def _require_proxy_header(value: str) -> str:
    if value.lower() in RESERVED_HEADERS or value.lower().startswith(("sec-", "accept-")):
        raise ValueError("must be a header that the proxy alone sets, such as X-Forwarded-Email")
    return value


# Headers that any browser sends, or by which the page knows other things.
RESERVED_HEADERS = frozenset(
    {
        "accept",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "cookie",
        "forwarded",
        "host",
        "origin",
        "referer",
        "user-agent",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
    }
)


HeaderName = Annotated[
    str, StringConstraints(pattern=HEADER_NAME), AfterValidator(_require_proxy_header)
]


class PageIdentity(ConfigModel):
    """People whom a proxy has authenticated; they log in without a code."""

    header: HeaderName
    """Header in which the proxy names the person; it must replace what a browser sends."""
    users: dict[Person, PageRole]
    """Role of each person, by what the header says: viewer, chat, approver, operator."""

    @model_validator(mode="after")
    def _require_unique_users(self) -> "PageIdentity":
        if len({name.lower() for name in self.users}) < len(self.users):
            raise ValueError('names a person twice in "users"; case is ignored')
        return self

    def find_user(self, named: str) -> str | None:
        """Return the name in `users` for a header's value, ignoring case."""
        return next((name for name in self.users if name.lower() == named.lower()), None)


class PageSettings(LocalChannel):
    """The web page, only on this machine; `orchestrator dashboard` opens it."""

    port: int = Field(8485, ge=1, le=65535)
    """Port of 127.0.0.1 that it listens on."""
    socket: bool = False
    """Whether the page listens on the unix socket `<home>/run/page.sock` instead of a port."""
    names: tuple[HostName, ...] = ()
    """Other names of this host, by which a proxy with https reaches the page."""
    path: PathPrefix = ""
    """Where the page begins behind a proxy, such as "/agents"."""
    behind_proxy: bool = False
    """Whether X-Forwarded-Proto and X-Forwarded-For of this machine count; `names` imply it."""
    identity: PageIdentity | None = None
    """People whom the proxy has authenticated; only for `names` and over https."""

    @model_validator(mode="after")
    def _require_names_for_identity(self) -> "PageSettings":
        if self.identity is not None and not self.names:
            raise ValueError(
                'has "identity" without "names", so it would never count; name the host by which'
                ' the proxy is reached in "names"'
            )
        return self

    @property
    def is_proxied(self) -> bool:
        """Whether a local proxy may say how a browser connected."""
        return self.behind_proxy or bool(self.names)


class PageChannels(ConfigModel):
    """The page's entries in `channels`."""

    web: PageSettings = PageSettings()
    """The web page and its chats."""
