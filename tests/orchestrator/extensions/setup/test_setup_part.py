"""Requests to set a running daemon up, by several people at once."""

from pathlib import Path

import anyio
from fakes.set_up_home import SetUpHome

from orchestrator.extensions.setup.setup_part import SetupPart
from orchestrator.extensions.setup.setup_requests import KEYS_SET


async def test_keys_that_are_set_at_once_are_all_kept(tmp_path: Path) -> None:
    """Also by the very first requests."""
    world = SetUpHome(tmp_path)
    part = SetupPart(await world.start())
    set_key = part.list_control_methods(None)[KEYS_SET]
    names = [f"KEY_{number}" for number in range(6)]

    async def store(name: str) -> None:
        await set_key({"name": name, "value": f"value-{name}"})

    async with anyio.create_task_group() as tasks:
        for name in names:
            tasks.start_soon(store, name)
    assert [name for name in names if f"{name}=value-{name}\n" not in world.keys] == []
