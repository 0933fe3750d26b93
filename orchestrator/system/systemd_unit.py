"""Write the systemd unit, filled in from config/orchestrator.service."""

import ctypes
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from orchestrator.errors import ConfigError
from orchestrator.settings import bundled

Scope: TypeAlias = Literal["user", "system"]

UNIT = "orchestrator.service"
HIDDEN_BY_PROTECT_HOME = ("/home", "/root", "/run/user")  # systemd.exec(5), ProtectHome=
MARK = "#@ "
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000  # linux/sched.h


def render(scope: Scope, command: Sequence[str], *, namespaces: bool = True) -> str:
    """Return the unit's text.

    Args:
        scope: "user" for a unit of the user's service manager, "system" for one of the machine's.
        command: the daemon's command line; the program is an absolute path.
        namespaces: whether a user's manager can make user namespaces, which it needs to give the
            daemon mounts and devices of its own; see `user_namespaces`.

    Raises:
        ConfigError: the program's path is not absolute, or is hidden from system units.
    """
    program = Path(command[0])
    if not program.is_absolute():
        raise ConfigError(f"{program}: systemd needs the absolute path of the program")
    if scope == "system" and any(program.is_relative_to(top) for top in HIDDEN_BY_PROTECT_HOME):
        raise ConfigError(
            f"{program}: a system service cannot see home directories; "
            "install the program below /opt, or install a user service"
        )
    template = (bundled("config") / UNIT).read_text("utf-8")
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
    return text.replace("@EXEC_START@", " ".join(map(_quoted, command)))


def install(
    scope: Scope, command: Sequence[str], root: Path, *, namespaces: bool = True
) -> list[Path]:
    """Write the unit and return the files written.

    ``root`` is the user's home directory, or ``/`` for a system unit. The user unit can write to
    the daemon's home alone, which is made if it is missing.

    Raises:
        ConfigError: the unit cannot be rendered or written.
    """
    text = render(scope, command, namespaces=namespaces)
    folder = root / (".config/systemd/user" if scope == "user" else "etc/systemd/system")
    path = folder / UNIT
    fresh = path.with_name(f".{UNIT}.new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if scope == "user":
            (root / ".orchestrator").mkdir(mode=0o700, exist_ok=True)
        fresh.write_text(text, "utf-8")
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        hint = "run it with sudo" if scope == "system" else "check who owns that directory"
        raise ConfigError(f"{path} cannot be written ({error.strerror}); {hint}") from error
    return [path]


def user_namespaces() -> bool:
    """Return whether this user may make user namespaces and mounts in them; tried in a child.

    Some distributions forbid it to all programs but those that they name.
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


def next_steps(scope: Scope) -> list[str]:
    """Return the commands to run after `install`."""
    if scope == "user":
        return [
            "systemctl --user daemon-reload",
            "systemctl --user enable --now orchestrator",
            "loginctl enable-linger  # keeps it running after you log out",
        ]
    return [
        "sudo useradd --system --shell /usr/sbin/nologin orchestrator",
        "sudo systemctl daemon-reload",
        "sudo systemctl enable --now orchestrator",
    ]


def _quoted(part: str) -> str:
    """Quote one word of a command line for systemd.service(5)."""
    if any(ord(char) < ord(" ") for char in part):
        raise ConfigError(f"{part!r} has a control character, which a unit file cannot contain")
    escaped = part.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    escaped = escaped.replace("$", "$$")
    return f'"{escaped}"' if escaped != part or " " in part else part
