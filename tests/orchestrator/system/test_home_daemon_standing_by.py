"""What is said of a daemon that waits for the journal of another one."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from orchestrator.control.connection import open_control_connection
from orchestrator.errors import NotRunningError
from orchestrator.settings import Settings
from orchestrator.system.homelock import hold_lock


async def test_commands_say_that_a_daemon_stands_by(tmp_path: Path) -> None:
    """It has its home's lock and no socket yet; the address is shown without its password."""
    url = "postgresql://ann:4711@localhost/j"
    settings = Settings(home=tmp_path, store=SecretStr(url))
    with hold_lock(settings), pytest.raises(NotRunningError) as caught:
        async with open_control_connection(settings):
            pass
    said = str(caught.value)
    assert "stands by while another one has the journal in postgresql://localhost/j" in said
    assert "4711" not in said
