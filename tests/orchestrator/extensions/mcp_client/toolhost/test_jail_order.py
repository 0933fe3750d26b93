"""What the jails of servers leave open, as paths."""

from pathlib import Path

import pytest

from orchestrator.extensions.mcp_client.toolhost.covering import is_inside
from orchestrator.extensions.mcp_client.toolhost.jail_order import (
    JailOrder,
    Surroundings,
    find_program_folders,
)
from orchestrator.extensions.mcp_client.toolhost.known_places import DEVICES, PACKAGE


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user with a key, settings, notes and the home of a daemon."""
    for name in (".ssh", ".aws", ".config/gh", ".config/plain", "notes", ".orchestrator"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".bashrc").touch()
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def look_around(user: Path) -> Surroundings:
    return Surroundings.from_environment(str(user / ".orchestrator"), {"HOME": str(user)})


def test_usual_reading_has_no_secrets_devices_and_nothing_of_the_daemon(user: Path) -> None:
    """And all else."""
    shown = look_around(user).shown
    for name in ("notes", ".config/plain", ".bashrc"):
        assert is_inside(str(user / name), shown)
    for name in (".ssh", ".aws", ".config/gh", ".orchestrator", ""):
        assert not is_inside(str(user / name), shown)
    assert not is_inside("/dev/pts", shown)
    assert is_inside("/usr/bin", shown)


def test_no_server_can_be_given_what_starts_programs_or_keys_to_write(user: Path) -> None:
    """The tool host itself has no right to."""
    around = look_around(user)
    whole = around.select_writable(["~", "/", str(PACKAGE.parent)])
    for path in (user / ".bashrc", user / ".ssh", user / ".aws", PACKAGE.parent, PACKAGE, "/usr"):
        assert not is_inside(str(path), whole)
        assert around.select_writable([str(path)]) == []
    assert is_inside(str(user / "notes"), whole)


def test_secret_opens_only_if_it_is_named_itself(user: Path) -> None:
    """A folder above it opens the rest."""
    around = look_around(user)
    assert around.select_readable(["~/.ssh"]) == [str(user / ".ssh")]
    for above in ("~", "/", "~/.config"):
        found = around.select_readable([above])
        assert not is_inside(str(user / ".config/gh"), found)
        assert is_inside(str(user / ".config/plain"), found)


def test_order_arrives_as_it_was_sent(tmp_path: Path) -> None:
    """With the folders in which its guardian answers calls behind it."""
    order = JailOrder(
        "/home/x", private=str(tmp_path), supervisor=1, run=("/usr",), write=("/srv", *DEVICES)
    )
    packed = order.pack()
    assert JailOrder.unpack(packed) == order
    assert packed.split("\0")[1:] == ["/srv", *DEVICES, str(tmp_path)]


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        (".pyenv/shims/python3", ".pyenv"),
        (".nvm/versions/node/v22/bin/npx", ".nvm"),
        (".cargo/bin/uvx", ".cargo"),
        (".local/bin/uvx", ".local/share/uv"),
    ],
)
def test_program_of_a_version_manager_has_its_whole_folder(
    user: Path, command: str, needed: str
) -> None:
    """It is a script that looks for others there."""
    path = user / command
    path.parent.mkdir(parents=True)
    path.touch()
    assert str(user / needed) in find_program_folders(str(path))
