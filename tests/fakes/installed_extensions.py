"""Extensions that are installed as far as the code under test knows."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from orchestrator.agentsfile.hosted_checks import HOST
from orchestrator.extension import Extension
from orchestrator.installed import InstalledExtensions

NONE: Mapping[str, str] = MappingProxyType({})


def install_extensions(
    monkeypatch: pytest.MonkeyPatch,
    *,
    own: tuple[Extension, ...] = (),
    foreign: tuple[Extension, ...] = (),
    channels: Mapping[str, Path] = MappingProxyType({}),
    broken: Mapping[str, str] = NONE,
) -> None:
    """Let these be all that are installed; ``own`` count as ours.

    What runs channels comes with them.
    """
    host = type("Host", (Extension,), {"name": HOST})() if channels else None
    found = InstalledExtensions(
        own={extension.name: extension for extension in filter(None, (*own, host))},
        foreign={extension.name: extension for extension in foreign},
        channels=channels,
        broken=broken,
    )
    monkeypatch.setattr("orchestrator.installed.find_installed", lambda: found)
    monkeypatch.setattr("orchestrator.installed.find_channels", lambda: channels)
