"""Where secrets are, and what starts programs."""

import os
import sys
from pathlib import Path

import pytest

from orchestrator.extensions.mcp_client.toolhost import known_places
from orchestrator.extensions.mcp_client.toolhost.covering import is_inside


@pytest.mark.parametrize(
    "name",
    [
        *(".ssh/id_rsa", ".aws/credentials", ".gnupg/private-keys-v1.d", ".config/gcloud/x.json"),
        *(".kube/config", ".docker/config.json", ".netrc", ".npmrc", ".pypirc"),
        *(".git-credentials", ".config/gh/hosts.yml", ".local/share/keyrings/login.keyring"),
        *(".password-store/mail.gpg", ".mozilla/firefox/x", ".config/google-chrome/Default"),
        *(".bash_history", ".zsh_history", ".thunderbird/x", "Maildir/new", ".pgpass"),
        *(".config/Bitwarden CLI/data.json", ".cargo/credentials.toml", ".env"),
    ],
)
def test_secret_of_a_user_is_known(tmp_path: Path, name: str) -> None:
    """In the home that the environment names."""
    places = known_places.list_secret_places({"HOME": str(tmp_path)})
    assert is_inside(os.path.realpath(tmp_path / name), places)


def test_other_files_of_a_user_are_no_secrets(tmp_path: Path) -> None:
    """Programs, documents and settings can be read."""
    places = known_places.list_secret_places({"HOME": str(tmp_path)})
    for name in ("Documents/a", ".config/plain", ".local/share/uv", ".gitconfig", ".cache/x", ""):
        assert not is_inside(os.path.realpath(tmp_path / name), places)


def test_secret_behind_a_link_is_known_where_it_is(tmp_path: Path) -> None:
    """Else the other path would open it."""
    (tmp_path / "keys").mkdir()
    (tmp_path / ".ssh").symlink_to("keys")
    assert str(tmp_path / "keys") in known_places.list_secret_places({"HOME": str(tmp_path)})


@pytest.mark.parametrize(
    "name",
    [
        *(".bashrc", ".bash_completion", ".cargo/env", ".tmux.conf", ".config/tmux/tmux.conf"),
        *(".local/share/uv/tools/a", ".local/share/pipx/a", ".docker/config.json", ".aws/config"),
        *(".cache/uv/a", ".npm/_cacache", ".config/git/hooks", ".gitconfig", ".local/bin/a"),
        *(".config/systemd/user/a.service", ".config/autostart/a", ".vimrc", ".ssh/rc"),
    ],
)
def test_what_starts_programs_is_known(tmp_path: Path, name: str) -> None:
    """Also the caches from which programs are started."""
    places = known_places.list_starting_places({"HOME": str(tmp_path)})
    assert is_inside(os.path.realpath(tmp_path / name), places)


def test_program_of_the_daemon_is_known_as_a_whole(tmp_path: Path) -> None:
    """A checkout with its repository, scripts and tests, and the Python that runs it."""
    places = known_places.list_starting_places({"HOME": str(tmp_path)})
    checkout = known_places.PACKAGE.parent
    for path in (checkout, checkout / ".git/config", checkout / "scripts/run", Path(sys.prefix)):
        assert is_inside(os.path.realpath(path), places)


def test_container_without_a_home_has_the_one_of_its_user() -> None:
    """Or none at all, if the user has no name; the root of the machine is nobody's home."""
    assert "/" not in known_places.list_user_homes({})
    assert "/" not in known_places.list_user_homes({"HOME": "/"})
