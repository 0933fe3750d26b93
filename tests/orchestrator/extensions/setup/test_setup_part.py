"""Requests to set up a daemon: what is wrong with one is told, without its secrets."""

from pathlib import Path

import anyio
import pytest
from fakes.journal import store_in
from fakes.set_up_home import SetUpHome

from orchestrator.control.protocol import PAIR_APPROVE, UNKNOWN_NAME
from orchestrator.extensions.setup import setup_requests as names
from orchestrator.extensions.setup.setup_part import SetupPart
from orchestrator.extensions.setup.setup_requests import KeyList
from thinker.protocol.messages import JsonObject
from thinker.protocol.peer import FAILED, INVALID_PARAMS, RpcError

SECRET = "sk-canary"


@pytest.mark.parametrize(
    ("method", "params", "code", "problem"),
    [
        (names.SETUP_MODEL, {"key": SECRET}, INVALID_PARAMS, "provider: "),
        (names.SETUP_MODEL, {"provider": "openai", "key": [SECRET]}, INVALID_PARAMS, "key: "),
        (names.SETUP_MODEL, {"provider": "x", "key": SECRET}, FAILED, "unknown provider"),
        (names.SETUP_MODEL, {"provider": "demo", "agentId": "x"}, UNKNOWN_NAME, "choose one of"),
        (names.SETUP_BOT, {"token": {"a": SECRET}}, INVALID_PARAMS, "token: "),
        (names.KEYS_SET, {"name": "A", "value": SECRET * 1000}, INVALID_PARAMS, "value: "),
        (names.KEYS_SET, {"name": "A B", "value": SECRET}, FAILED, "is not the name of a key"),
        (names.KEYS_REMOVE, {"name": "A"}, UNKNOWN_NAME, "no key 'A' is set"),
        (PAIR_APPROVE, {"code": "X", "agentId": "nil"}, UNKNOWN_NAME, "choose one of assistant"),
        (PAIR_APPROVE, {"code": "X", "agentId": "assistant"}, UNKNOWN_NAME, "no chat has"),
    ],
)
async def test_wrong_request_is_refused_in_words(
    tmp_path: Path, method: str, params: JsonObject, code: int, problem: str
) -> None:
    """They name the field, and nothing is written."""
    world = SetUpHome(tmp_path, store=store_in(tmp_path))
    part = SetupPart(await world.start())
    with pytest.raises(RpcError, match=problem) as raised:
        await part.list_authored_methods("web:ann")[method](params)
    assert raised.value.code == code
    assert SECRET not in str(raised.value)
    assert world.is_untouched
    world.store.close()


async def test_broken_agents_json_is_told_with_its_line(tmp_path: Path) -> None:
    """It has to be corrected before anything can be written into it."""
    world = SetUpHome(tmp_path)
    part = SetupPart(await world.start())
    (tmp_path / "agents.json").write_text('{\n"agents": [', "utf-8")
    await world.operations.reload_configuration()
    with pytest.raises(RpcError, match=r"json:2: .* correct it first"):
        await part.list_authored_methods("operator")[names.SETUP_MODEL]({"provider": "demo"})


async def test_requests_share_what_they_know(tmp_path: Path) -> None:
    """They are found by everyone who may ask."""
    world = SetUpHome(tmp_path)
    part = SetupPart(await world.start())
    await part.list_authored_methods("operator")[names.KEYS_SET]({"name": "A", "value": SECRET})
    found = await part.list_authored_methods("web:ann")[names.KEYS_LIST](None)
    assert isinstance(found, KeyList)
    assert "A" in [one.name for one in found.keys if one.set]
    assert SECRET not in found.model_dump_json()


async def test_keys_that_are_set_at_once_are_all_kept(tmp_path: Path) -> None:
    """Also by the very first requests, of several people."""
    world = SetUpHome(tmp_path)
    part = SetupPart(await world.start())
    wanted = [f"KEY_{number}" for number in range(6)]

    async def store(name: str) -> None:
        set_key = part.list_authored_methods(f"web:{name}")[names.KEYS_SET]
        await set_key({"name": name, "value": f"value-{name}"})

    async with anyio.create_task_group() as tasks:
        for name in wanted:
            tasks.start_soon(store, name)
    assert [name for name in wanted if f"{name}=value-{name}\n" not in world.keys] == []
