"""The order and the environment of each server's jail."""

from pathlib import Path

import pytest

from orchestrator.extensions.mcp_client.toolhost.jail_order import Surroundings
from orchestrator.extensions.mcp_client.toolhost.known_places import DEVICES
from orchestrator.extensions.mcp_client.toolhost.server_jails import ServerJails, build_environment
from orchestrator.extensions.mcp_client.toolhost.wire import ServerJail, ServerSpec


@pytest.fixture
def jails(tmp_path: Path) -> ServerJails:
    """Those of a daemon whose user has settings of git and a version manager."""
    user = tmp_path / "user"
    (user / ".pyenv").mkdir(parents=True)
    (user / ".gitconfig").touch()
    (tmp_path / "home").mkdir()
    environ = {"HOME": str(user)}
    return ServerJails(Surroundings.from_environment(str(tmp_path / "home"), environ))


def test_server_writes_its_own_folder_and_harmless_devices_alone(
    jails: ServerJails, tmp_path: Path
) -> None:
    """Also one whose narrower reading names no folder to write."""
    for sandbox in (ServerJail(), ServerJail(read=("/",)), ServerJail(write=())):
        order = jails.build_order(ServerSpec(name="s", command="true", sandbox=sandbox))
        assert order.list_writable() == (*DEVICES, str(tmp_path / "home" / "servers" / "s"))


def test_own_folder_is_home_and_holds_all_caches(jails: ServerJails, tmp_path: Path) -> None:
    """Version managers and git find what is their user's by variables."""
    user, own = tmp_path / "user", tmp_path / "home" / "servers" / "s"
    order = jails.build_order(ServerSpec(name="s", command="true"))
    environ = {"HOME": str(user), "PATH": "/bin", "XDG_CACHE_HOME": "/shared", "UV_CACHE_DIR": "/"}
    assert build_environment(order, environ) == {
        "PATH": "/bin",
        "HOME": str(own),
        "TMPDIR": str(own / "tmp"),
        "GIT_CONFIG_GLOBAL": str(user / ".gitconfig"),
        "PYENV_ROOT": str(user / ".pyenv"),
    }


def test_narrow_jail_names_no_file_that_cannot_be_read(jails: ServerJails, tmp_path: Path) -> None:
    """Git fails on settings that it is told of and cannot open."""
    spec = ServerSpec(name="s", command="true", sandbox=ServerJail(read=("/srv",)))
    order = jails.build_order(spec)
    given = build_environment(order, {"HOME": str(tmp_path / "user")})
    assert set(given) == {"HOME", "TMPDIR"}


def test_server_without_a_jail_keeps_the_home_of_its_user(
    jails: ServerJails, tmp_path: Path
) -> None:
    """Agents.json says so."""
    order = jails.build_order(ServerSpec(name="s", command="true", sandbox="off"))
    environ = {"HOME": str(tmp_path / "user")}
    assert build_environment(order, environ) == environ
