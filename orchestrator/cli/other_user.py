"""Explain that a home belongs to another user, and which command to type."""

import os
import pwd
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.home_paths import Paths
from orchestrator.system import home_owner
from orchestrator.system.home_owner import find_user_name
from orchestrator.system.installed_units import list_installed_units

DEFAULT = ".orchestrator"  # the usual home, in a person's home directory


def require_access(home: Path) -> None:
    """Require that this user may read a home, if it exists.

    Raises:
        ConfigError: the home, or a folder above it, is closed to this user.
    """
    closed = home_owner.find_barrier(home)
    if closed is None:
        return
    owner, me = find_user_name(home_owner.find_owner_id(closed) or 0), find_user_name(os.geteuid())
    raise ConfigError(
        f"{closed} belongs to the user {owner}, and the user {me} may not look into it; try:"
        f" {format_command_as(home, owner)}"
    )


def require_owner(home: Path) -> None:
    """Require that this user owns a home and the files that the daemon writes there.

    Raises:
        ConfigError: another user owns the home or one of these files.
    """
    found = home_owner.list_foreign_files(home)
    if not found:
        return
    path, me = found[0], find_user_name(os.geteuid())
    owner = find_user_name(home_owner.find_owner_id(path) or 0)
    if path == home:
        raise ConfigError(
            f"{home} belongs to the user {owner}, and this is the user {me}, whose files a daemon"
            f" of {owner} could not use; try: {format_command_as(home, owner)}"
        )
    more = f" and {len(found) - 1} more belong" if len(found) > 1 else " belongs"
    raise ConfigError(
        f"{path}{more} to the user {owner}, so a daemon of the user {me} cannot write there;"
        f" try: sudo chown -R {me}: {shlex.quote(str(home))}"
    )


def describe_other_daemon(home: Path) -> str:
    """Return a hint at a daemon or service with another home; empty if none is found."""
    for other, user in _list_usual_homes():
        if other != home and _is_listening(other):
            return f"; one runs on {other}, try: {format_command_as(other, user)}"
    for unit in list_installed_units(Path.home()):
        if unit.home != home:
            owner = home_owner.find_owner_id(unit.home)
            user = unit.user or find_user_name(os.geteuid() if owner is None else owner)
            command = format_command_as(unit.home, user)
            return f"; a service is installed for {unit.home}, try: {command}"
    return ""


def _list_usual_homes() -> Iterator[tuple[Path, str]]:
    """Yield the usual home of this user, and of the one who called sudo, with their names."""
    yield Path.home() / DEFAULT, find_user_name(os.geteuid())
    caller = os.environ.get("SUDO_USER", "")
    with suppress(KeyError):
        yield Path(pwd.getpwnam(caller).pw_dir) / DEFAULT, caller


def _is_listening(home: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError, ConfigError):
        probe.connect(str(Paths(home).control_socket))
        return True
    return False


def format_command_as(home: Path, user: str) -> str:
    """Format this command for a home as another user would type it."""
    prefix = {"root": ["sudo"], find_user_name(os.geteuid()): []}.get(user, ["sudo", "-u", user])
    return shlex.join([*prefix, *find_program(), *_list_command_words(), "--home", str(home)])


def find_program() -> list[str]:
    """Return the path of this program, so that sudo finds it as well."""
    started = Path(sys.argv[0])
    if started.name == "orchestrator" and started.is_file():
        return [str(started.absolute())]
    return [sys.executable, "-P", "-m", "orchestrator"]


def _list_command_words() -> list[str]:
    """Return the words of the running command, without its options."""
    words = sys.argv[1:]
    return words[: next((n for n, word in enumerate(words) if word.startswith("-")), len(words))]
