"""Write the systemd unit from config/orchestrator.service.

Where: is the systemd unit written?
"""

import ctypes
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import ConfigError
from orchestrator.home_paths import find_bundled_path
from orchestrator.system.installed_units import UNIT, Scope

MARK = "#@ "
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h


def render_unit(scope: Scope, command: Sequence[str], *, namespaces: bool = True) -> str:
    """Return the unit's text.

    Args:
        scope: "user" for a unit of the user's service manager, "system" for one of the machine's.
        command: the daemon's command line; the program is an absolute path.
        namespaces: whether a user's manager can make user namespaces, which private mounts and
            devices need; see `can_use_namespaces`.

    Raises:
        ConfigError: the program's path is not absolute.
    """
    program = Path(command[0])
    if not program.is_absolute():
        raise ConfigError(f"{program}: systemd needs the absolute path of the program")
    template = (find_bundled_path("config") / UNIT).read_text("utf-8")
    wanted = {"both", scope}
    if namespaces or scope == "system":
        wanted |= {"namespaces", f"{scope} namespaces"}
    kept, part = [], "both"
    for line in template.splitlines():
        if line.startswith(MARK):
            part = line.removeprefix(MARK)
        elif part in wanted and not line.startswith("#"):
            kept.append(line)
    text = "\n".join(kept).strip() + "\n"
    return text.replace("@EXEC_START@", " ".join(map(_quote_word, command)))


def write_unit(path: Path, text: str) -> None:
    """Write a unit's file, whole or not at all, readable by systemd.

    Raises:
        ConfigError: the file cannot be written.
    """
    fresh = path.with_name(f".{UNIT}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(text, "utf-8")
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be written ({error.strerror}); check who owns its folder"
        ) from error


def can_use_namespaces() -> bool:
    """Return whether this user may make user and mount namespaces, by trying in a child.

    Some distributions allow that to listed programs only.
    """
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(OSError):
            _enter_namespaces()
            code = 0
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def _enter_namespaces() -> None:
    uid, gid = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    for flag in (CLONE_NEWUSER, CLONE_NEWNS):
        if libc.unshare(flag):
            raise OSError(ctypes.get_errno(), "unshare")
        if flag == CLONE_NEWUSER:
            for name, text in (
                ("setgroups", "deny"),
                ("uid_map", f"{uid} {uid} 1"),
                ("gid_map", f"{gid} {gid} 1"),
            ):
                Path(f"/proc/self/{name}").write_text(text, "ascii")


def _quote_word(part: str) -> str:
    """Quote one word of a command line for systemd.service(5)."""
    if any(ord(char) < ord(" ") for char in part):
        raise ConfigError(f"{part!r} has a control character, which a unit file cannot contain")
    escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("$", "$$")
    return f'"{escaped}"' if escaped != part or " " in part else part
