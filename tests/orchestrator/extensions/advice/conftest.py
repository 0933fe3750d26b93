"""Advice, with invented extensions: each of the others that ship could be deleted."""

import pytest
from fakes.carrier import CarrierExtension
from fakes.installed_extensions import install_extensions

from orchestrator.extension import Extension
from orchestrator.extensions.advice.extension import AdviceExtension


class ServersExtension(Extension):
    """Says that something keeps MCP servers, as `mcp_client` does."""

    name = "mcp_client"


class LearningExtension(Extension):
    """Says that something summarizes and learns, as `memory` does."""

    name = "memory"


@pytest.fixture(autouse=True)
def invented_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice, a chat platform, and the names of extensions that fields of the file need."""
    own = (AdviceExtension(), CarrierExtension(), ServersExtension(), LearningExtension())
    install_extensions(monkeypatch, own=own)
