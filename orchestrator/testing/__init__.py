"""Test support for extensions, by the paths that tests import.

A test module of a channel inherits `orchestrator.testing.channel_contract.ChannelContract`, and
has a fixture ``world`` that plays the platform. `hosted_adapter` runs the channel in this process.
pytest, pytest-asyncio and anyio run them; the daemon never imports this package.
"""

import sys
from importlib.metadata import entry_points
from types import ModuleType

if "pytest" in sys.modules:
    import pytest

    # A failed assertion then shows its values, as in a test module.
    pytest.register_assert_rewrite("orchestrator.extensions.channel_folders.testing.channel_tests")


def import_provided(name: str) -> ModuleType:
    """Import what an extension provides as a module of this package.

    Raises:
        ImportError: the extension is not installed.
    """
    (point,) = entry_points(group=__name__, name=name)
    module: ModuleType = point.load()
    return module
