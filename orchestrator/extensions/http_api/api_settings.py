"""Settings of the endpoints for programs."""

from typing import ClassVar

from pydantic import Field

from orchestrator.agentsfile.channel_settings import LocalChannel
from orchestrator.agentsfile.field_types import ConfigModel, HostName, WebOrigin

LOOPBACK = "127.0.0.1"


class ApiSettings(LocalChannel):
    """The endpoints for clients of OpenAI and Anthropic; `orchestrator api token` opens them."""

    takes_notices: ClassVar[bool] = False

    port: int = Field(8484, ge=0, le=65535)
    """Port they listen on; 0 takes a free one. ORCHESTRATOR_API_PORT overrides it."""
    host: HostName = LOOPBACK
    """Address they listen on: this machine alone, or "0.0.0.0" for containers and the network."""
    names: tuple[HostName, ...] = ()
    """Other names and addresses by which clients reach them, such as "host.docker.internal"."""
    origins: tuple[WebOrigin, ...] = ()
    """Web pages of other sites whose scripts may ask, such as "https://chat.example"."""


class ApiChannels(ConfigModel):
    """The HTTP API's entries in `channels`."""

    api: ApiSettings = ApiSettings()
    """The OpenAI-compatible endpoints."""
