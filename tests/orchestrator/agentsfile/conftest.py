"""The extensions that the tests of agents.json know: none that ships, as each could be deleted."""

import pytest
from fakes.carrier import CarrierExtension
from fakes.installed_extensions import install_extensions

from orchestrator.extension import Extension


class ServersExtension(Extension):
    """Says that something keeps MCP servers, as `mcp_client` does."""

    name = "mcp_client"


class BackgroundExtension(Extension):
    """Says that something works in the background, as `upkeep` does."""

    name = "upkeep"


class LearningExtension(Extension):
    """Says that something summarizes and learns, as `memory` does."""

    name = "memory"


@pytest.fixture(autouse=True)
def invented_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chat platform, and what has the names of the extensions that fields of the file need."""
    own = (CarrierExtension(), ServersExtension(), BackgroundExtension(), LearningExtension())
    install_extensions(monkeypatch, own=own)
