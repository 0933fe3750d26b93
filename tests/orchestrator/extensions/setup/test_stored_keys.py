"""Keys are set and removed while the daemon runs, and never shown."""

from pathlib import Path

import pytest
from fakes.set_up_home import SetUpHome

from orchestrator.errors import OrchestratorError, UnknownNameError
from orchestrator.extensions.setup.agents_text import AgentsText
from orchestrator.extensions.setup.stored_keys import StoredKeys

NAME = "OPENAI_API_KEY"


async def open_keys(world: SetUpHome) -> StoredKeys:
    """The keys of a home whose daemon runs."""
    daemon = await world.start()
    return StoredKeys(daemon, AgentsText(daemon))


async def test_key_is_in_force_when_it_is_set_and_gone_when_it_is_removed(tmp_path: Path) -> None:
    """The first one makes the file with its remarks, which stay."""
    world = SetUpHome(tmp_path)
    keys = await open_keys(world)
    done = await keys.set_key({"name": NAME, "value": " it's \\ a key "})
    assert "it's" not in done.text
    assert world.environ[NAME] == "it's \\ a key"
    assert (tmp_path / "keys.env").stat().st_mode & 0o777 == 0o600
    assert "# Keys of model providers" in world.keys
    (listed,) = (one for one in (await keys.list_keys(None)).keys if one.name == NAME)
    assert (listed.set, listed.origin, listed.users) == (True, "keys.env", ("agent assistant",))
    done = await keys.remove_key({"name": NAME})
    assert done.text == f"{NAME} is removed; it was used by agent assistant"
    assert NAME not in world.environ
    assert "# Keys of model providers" in world.keys
    with pytest.raises(UnknownNameError, match="no key"):
        await keys.remove_key({"name": NAME})


async def test_keys_are_listed_beside_a_broken_agents_json(tmp_path: Path) -> None:
    """A key may be what it lacks; of the users, those of the file in force are known."""
    world = SetUpHome(tmp_path)
    keys = await open_keys(world)
    (tmp_path / "agents.json").write_text("{", "utf-8")
    await keys.set_key({"name": NAME, "value": "x"})
    users = {one.name: one.users for one in (await keys.list_keys(None)).keys}
    assert users[NAME] == ("agent assistant",)


async def test_key_of_the_environment_cannot_be_changed(tmp_path: Path) -> None:
    """It would win over the file, so storing another one would seem to work."""
    world = SetUpHome(tmp_path, {NAME: "from outside"})
    keys = await open_keys(world)
    for change in (keys.set_key({"name": NAME, "value": "x"}), keys.remove_key({"name": NAME})):
        with pytest.raises(OrchestratorError, match="which wins over"):
            await change
    (listed,) = (one for one in (await keys.list_keys(None)).keys if one.name == NAME)
    assert (listed.set, listed.origin) == (True, "environment")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("A KEY", "x"),
        ("A=B", "x"),
        ("A\nB", "x"),
        ("../A", "x"),
        ("ORCHESTRATOR_HOME", "x"),
        ("ld_preload", "x"),
        ("PATH", "x"),
        (NAME, " "),
        (NAME, "one\nTWO=2"),
        (NAME, "a\x00b"),
    ],
)
async def test_what_is_no_key_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """Nothing is written, and the value is not repeated."""
    keys = await open_keys(SetUpHome(tmp_path))
    with pytest.raises(OrchestratorError) as raised:
        await keys.set_key({"name": name, "value": value})
    assert not (tmp_path / "keys.env").exists()
    assert value.strip() in ("", "x") or value not in str(raised.value)


async def test_file_elsewhere_or_too_large_is_left_alone(tmp_path: Path) -> None:
    """A link may lead to a file of another program, and a huge file could not be read again."""
    (tmp_path / "home").mkdir()
    (tmp_path / "real").write_text("A=1\n", "utf-8")
    (tmp_path / "home/keys.env").symlink_to(tmp_path / "real")
    keys = await open_keys(SetUpHome(tmp_path / "home"))
    with pytest.raises(OrchestratorError, match="links to"):
        await keys.set_key({"name": NAME, "value": "x"})
    (tmp_path / "home/keys.env").unlink()
    for number in range(8):
        await keys.set_key({"name": f"KEY_{number}", "value": "x" * 7900})
    with pytest.raises(OrchestratorError, match="too large"):
        await keys.set_key({"name": NAME, "value": "x" * 7900})
    assert keys.daemon.environ["KEY_7"] == "x" * 7900
