"""What to say when a home is another user's: whose it is, and the command that works."""

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
from orchestrator.system.home_owner import user_name
from orchestrator.system.installed_units import installed

DEFAULT = ".orchestrator"  # the usual home, in a person's home directory


def require_access(home: Path) -> None:
    """Check that this user may look into a home, if it exists.

    Raises:
        ConfigError: it, or a folder above it, is closed to this user.
    """
    closed = home_owner.barrier(home)
    if closed is None:
        return
    owner = user_name(home_owner.owner_id(closed) or 0)
    raise ConfigError(
        f"{closed} belongs to the user {owner}, and the user {user_name(os.geteuid())} may not look"
        f" into it; try: {again(home, owner)}"
    )


def require_owner(home: Path) -> None:
    """Check that this user owns a home and what the daemon writes into it, as far as it exists.

    Raises:
        ConfigError: another user does.
    """
    found = home_owner.foreign(home)
    if not found:
        return
    path, me = found[0], user_name(os.geteuid())
    owner = user_name(home_owner.owner_id(path) or 0)
    if path == home:
        raise ConfigError(
            f"{home} belongs to the user {owner}, and this is the user {me}, whose files a daemon"
            f" of {owner} could not use; try: {again(home, owner)}"
        )
    more = f" and {len(found) - 1} more belong" if len(found) > 1 else " belongs"
    raise ConfigError(
        f"{path}{more} to the user {owner}, so a daemon of the user {me} cannot write there;"
        f" try: sudo chown -R {me}: {shlex.quote(str(home))}"
    )


def elsewhere(home: Path) -> str:
    """Return a sentence for who finds no daemon on a home: where one is, or where a service is."""
    for other, user in _usual_homes():
        if other != home and _listens(other):
            return f"; one runs on {other}, try: {again(other, user)}"
    for unit in installed(Path.home()):
        if unit.home != home:
            owner = home_owner.owner_id(unit.home)
            user = unit.user or user_name(os.geteuid() if owner is None else owner)
            return f"; a service is installed for {unit.home}, try: {again(unit.home, user)}"
    return ""


def _usual_homes() -> Iterator[tuple[Path, str]]:
    """Yield the usual home of this user, and of the one who called sudo, with their names."""
    yield Path.home() / DEFAULT, user_name(os.geteuid())
    caller = os.environ.get("SUDO_USER", "")
    with suppress(KeyError):
        yield Path(pwd.getpwnam(caller).pw_dir) / DEFAULT, caller


def _listens(home: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError, ConfigError):
        probe.connect(str(Paths(home).control_socket))
        return True
    return False


def again(home: Path, user: str) -> str:
    """Return this command as another user types it for a home."""
    prefix = {"root": ["sudo"], user_name(os.geteuid()): []}.get(user, ["sudo", "-u", user])
    return shlex.join([*prefix, *program(), *_words(), "--home", str(home)])


def program() -> list[str]:
    """Return how this program was started, so that sudo finds it as well."""
    started = Path(sys.argv[0])
    if started.name == "orchestrator" and started.is_file():
        return [str(started.absolute())]
    return [sys.executable, "-P", "-m", "orchestrator"]


def _words() -> list[str]:
    """Return the command that runs, without its options."""
    words = sys.argv[1:]
    return words[: next((n for n, word in enumerate(words) if word.startswith("-")), len(words))]
