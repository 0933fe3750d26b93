"""Test support for extensions: the contract of a channel, and its process in memory.

A test module of a channel inherits `orchestrator.testing.channel_contract.ChannelContract`, and
has a fixture ``world`` that plays the platform. `hosted_adapter` runs the channel in this process.
pytest, pytest-asyncio and anyio run them; the daemon never imports this package.
"""

import sys

if "pytest" in sys.modules:
    import pytest

    # A failed assertion then shows its values, as in a test module.
    pytest.register_assert_rewrite("orchestrator.testing.channel_contract")
