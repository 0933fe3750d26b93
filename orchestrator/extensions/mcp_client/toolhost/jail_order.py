"""The order from the tool host to a guardian: what a jail leaves open.

Where: are the jail rules of an MCP server made?
"""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from orchestrator.extensions.mcp_client.toolhost.covering import cover_all_but, is_inside
from thinker.jail.landlock import Grants

Network: TypeAlias = Literal["open", "proxy", "none"]
PACKAGE = Path(__file__).parents[3]
CODE = (sys.prefix, sys.base_prefix, str(PACKAGE), str(PACKAGE.parent / "thinker"))
# What comes with the program, in a checkout; an installed one has it in its package.
DATA = tuple(str(PACKAGE.parent / name) for name in ("config", "prompts", "skills"))
# Where programs and what they need are, on any distribution.
SYSTEM = (
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix",
    "/opt",
    "/proc",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/run/systemd/resolve",
    "/run/NetworkManager",
    "/run/resolvconf",
    "/run/current-system",
    "/var/lib/ca-certificates",
)
DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "fd")
# What runs as the user without a jail; a server that writes there would leave its own. Python
# imports parts of .local/lib at each start.
STARTED = """
.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile
.zshrc .zshenv .zprofile .zlogin .zlogout .oh-my-zsh .config/fish
.xinitrc .xprofile .xsession .xsessionrc .pam_environment
.config/systemd .config/autostart .config/environment.d .local/share/systemd
.local/share/dbus-1 .local/share/applications
bin .local/bin .local/lib .cargo/bin go/bin .bun/bin .deno/bin .pyenv .nvm
.ssh .gnupg .gitconfig .config/git .tmux.conf .screenrc .gdbinit
.vimrc .vim .config/nvim .emacs .emacs.d .config/emacs
"""
SECRETS = ("/etc/orchestrator", "~/.config/orchestrator")  # of the systemd units
# Where systemd passes secrets to a unit of the system and of a user.
CREDENTIALS = ("/run/credentials", f"/run/user/{os.getuid()}/credentials")


@dataclass(frozen=True)
class Surroundings:
    """The machine around a daemon's jails: what they may ``run`` and read, and ``write`` too.

    All of it but the daemon's home, its secrets, and for writing what runs outside of the jails. It
    is listed before there is a jail, since a listing of ``/`` is out of reach then.
    """

    home: str
    run: tuple[str, ...] = ()
    write: tuple[str, ...] = ()

    @classmethod
    def from_environment(
        cls, home: str, environ: Mapping[str, str], config: str = ""
    ) -> "Surroundings":
        """List what is around a home; ``config`` is the agents.json, which may be elsewhere."""
        user = environ.get("HOME") or "/nonexistent"
        hidden = [home, *(path.replace("~", user) for path in SECRETS)]
        hidden += [config] if config else []
        hidden += filter(os.path.isdir, CREDENTIALS)
        kept = (*CODE, *DATA, *(f"{user}/{name}" for name in STARTED.split()))
        return cls(
            os.path.realpath(home),
            tuple(cover_all_but(hidden)),
            tuple(cover_all_but((*hidden, *kept))),
        )


@dataclass(frozen=True)
class JailOrder:
    """The jail of one server.

    ``private`` is the server's own folder. ``read`` and ``write`` are the only paths that it sees
    besides system folders; None means all but the daemon's. ``proxy`` is the port of the proxy
    that it may use. ``off`` leaves only the tool host's jail; ``required`` forbids to run it in a
    weaker jail. ``bundled`` is a server that jails its commands itself, as no other process can.
    """

    around: Surroundings
    private: str
    supervisor: int
    command: str
    read: tuple[str, ...] | None = None
    write: tuple[str, ...] | None = None
    network: Network = "open"
    proxy: int = 0
    sockets: bool = False
    off: bool = False
    required: bool = False
    bundled: bool = False

    @property
    def is_narrow(self) -> bool:
        return self.read is not None or self.write is not None

    def pack(self) -> str:
        """Return the order as text, followed by where the server may change modes and the like."""
        answered = (
            () if self.off or self.bundled else map(os.path.realpath, self.build_grants().all)
        )
        return "\0".join((json.dumps(asdict(self)), *answered))

    @classmethod
    def unpack(cls, text: str) -> "JailOrder":
        fields = json.loads(text.partition("\0")[0])
        return cls(**{**fields, "around": Surroundings(**fields["around"])})

    def build_grants(self) -> Grants:
        """Return the grants of what stays open."""
        run, write = (
            self._list_named_paths() if self.is_narrow else (self.around.run, self.around.write)
        )
        ports = None if self.network == "open" else [self.proxy] if self.proxy else []
        return Grants(
            run=[*run, *CODE],
            all=[*write, self.private],
            connect=ports,
            bind=None if self.network == "open" else (),
        )

    def _list_named_paths(self) -> tuple[list[str], list[str]]:
        own = str(PACKAGE.parent)  # bundled servers look for their modules there
        named = (*SYSTEM, own, *find_program_folders(self.command), *(self.read or ()))
        devices = (f"/dev/{name}" for name in DEVICES)
        return self._select_open_paths(named, self.around.run), [
            *self._select_open_paths(self.write or (), self.around.write),
            *devices,
        ]

    def _select_open_paths(self, paths: Iterable[str], open_paths: Iterable[str]) -> list[str]:
        """Return the paths that are open; for those in the home, the tool host's jail decides."""
        found: list[str] = []
        for path in (os.path.realpath(Path(path).expanduser()) for path in paths):
            if is_inside(path, [self.around.home, *open_paths]):
                found.append(path)
            else:
                found += [other for other in open_paths if is_inside(other, [path])]
        return found


def find_program_folders(command: str) -> list[str]:
    """Return where a program and its parts are, as nvm, uv and pipx install them for a user."""
    user = Path("~").expanduser()
    found: list[Path] = []
    for path in filter(Path.is_absolute, {Path(command), Path(command).resolve()}):
        prefix = path.parent.parent
        if prefix == user / ".local":
            found += [path.parent, prefix / "share/uv", prefix / "share/pipx"]
        elif path.parent.name == "bin" and not user.is_relative_to(prefix):
            found.append(prefix)
        else:
            found.append(path)
    return list(map(str, found))
