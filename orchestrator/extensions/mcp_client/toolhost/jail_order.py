"""The order from the tool host to a guardian: what a jail leaves open.

Where: are the jail rules of an MCP server made?
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from orchestrator.extensions.mcp_client.toolhost import known_places
from orchestrator.extensions.mcp_client.toolhost.covering import cover_all_but, is_inside
from thinker.jail.landlock import Grants

Network: TypeAlias = Literal["open", "proxy", "none"]
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
# Of the systemd units, which pass secrets to a unit of the system and of a user.
OWN_SECRETS = ("/etc/orchestrator", "~/.config/orchestrator")
CREDENTIALS = ("/run/credentials", f"/run/user/{os.getuid()}/credentials")
# Where version managers keep programs of a user; a program in one needs the whole folder.
MANAGERS = """
.local/share/uv .local/share/pipx .local/share/mise .local/share/pnpm .pyenv .nvm .volta .asdf
.rustup .cargo .bun .deno .rbenv .sdkman .npm-global
"""


@dataclass(frozen=True)
class Surroundings:
    """The machine around a daemon's jails.

    ``run`` is what the tool host may read and run: all but the daemon's home and its secrets.
    ``write`` is what it may let servers write: of that, no secrets of the user, and nothing that
    starts programs outside of the jails. ``shown`` is what servers read unless they are told more:
    of ``run``, none of the ``secrets``. All is listed before there is a jail, out of which ``/``
    cannot be listed.
    """

    home: str
    run: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    @classmethod
    def from_environment(
        cls, home: str, environ: Mapping[str, str], config: str = ""
    ) -> "Surroundings":
        """List what is around a home; ``config`` is the agents.json, which may be elsewhere."""
        user = environ.get("HOME") or "/nonexistent"
        hidden = [home, *(path.replace("~", user) for path in OWN_SECRETS)]
        hidden += [config] if config else []
        hidden += filter(os.path.isdir, CREDENTIALS)
        keys = known_places.list_secret_places(environ)
        starting = known_places.list_starting_places(environ)
        secrets = (*keys, known_places.DEVICE_FOLDER)
        return cls(
            os.path.realpath(home),
            run=tuple(cover_all_but(hidden)),
            write=tuple(cover_all_but((*hidden, *keys, *starting))),
            shown=tuple(cover_all_but((*hidden, *secrets))),
            secrets=secrets,
        )

    def select_readable(self, paths: Iterable[str]) -> list[str]:
        """Return the parts of paths that a server may read; a secret must be named itself."""
        return self._select_parts(paths, self.shown, named=self.run)

    def select_writable(self, paths: Iterable[str]) -> list[str]:
        """Return the parts of paths that a server may write."""
        return self._select_parts(paths, self.write)

    def _select_parts(
        self, paths: Iterable[str], open_paths: Iterable[str], named: Iterable[str] = ()
    ) -> list[str]:
        """Return what is open of paths; for those in the home, the tool host's jail decides."""
        found: list[str] = []
        for path in (os.path.realpath(Path(path).expanduser()) for path in paths):
            known = named if named and is_inside(path, self.secrets) else open_paths
            if is_inside(path, [self.home, *known]):
                found.append(path)
            else:
                found += [other for other in known if is_inside(other, [path])]
        return found


@dataclass(frozen=True)
class JailOrder:
    """The jail of one server.

    ``run`` is all that it may read and run, ``write`` all that it may write besides ``private``,
    its own folder. ``proxy`` is the port of the proxy that it may use. ``off`` leaves only the tool
    host's jail; ``required`` forbids to run it in a weaker jail. ``bundled`` is a server that jails
    its commands itself, as no other process can. ``closed`` are places that it must not read, and
    ``fixed`` those that it must not write, which it tries before it starts.
    """

    home: str
    private: str
    supervisor: int
    run: tuple[str, ...] = ()
    write: tuple[str, ...] = known_places.DEVICES
    closed: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    network: Network = "open"
    proxy: int = 0
    sockets: bool = False
    namespaces: bool = False
    off: bool = False
    required: bool = False
    bundled: bool = False

    def pack(self) -> str:
        """Return the order as text, followed by where the server may change modes and the like."""
        answered = () if self.off or self.bundled else map(os.path.realpath, self.list_writable())
        return "\0".join((json.dumps(asdict(self)), *answered))

    @classmethod
    def unpack(cls, text: str) -> "JailOrder":
        fields: dict[str, Any] = json.loads(text.partition("\0")[0])
        lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
        return cls(**(fields | lists))

    def list_writable(self) -> tuple[str, ...]:
        return (*self.write, self.private)

    def build_grants(self) -> Grants:
        """Return the grants of what stays open."""
        ports = None if self.network == "open" else [self.proxy] if self.proxy else []
        return Grants(
            run=(*self.run, *known_places.list_code_folders()),
            # Who makes a namespace maps users there; root could choose whom the kernel ends.
            write=("/proc",) if self.namespaces and os.getuid() else (),
            all=self.list_writable(),
            connect=ports,
            bind=None if self.network == "open" else (),
        )


def list_named_paths(
    around: Surroundings, command: str, read: Iterable[str], write: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return what a server with named paths may run, and what it may write."""
    own = str(known_places.PACKAGE.parent)  # bundled servers look for their modules there
    named = (*SYSTEM, own, *find_program_folders(command), *read)
    return around.select_readable(named), around.select_writable(write)


def find_program_folders(command: str) -> list[str]:
    """Return where a program and its parts are, as nvm, uv and pipx install them for a user."""
    user = Path("~").expanduser()
    managers = [user / name for name in MANAGERS.split()]
    found: list[Path] = []
    for path in filter(Path.is_absolute, {Path(command), Path(command).resolve()}):
        prefix = path.parent.parent
        if prefix == user / ".local":
            found += [path.parent, prefix / "share/uv", prefix / "share/pipx"]
        elif manager := next(filter(path.is_relative_to, managers), None):
            found += [manager, *(managers if manager.name == ".cargo" else ())]
        elif path.parent.name == "bin" and not user.is_relative_to(prefix):
            found.append(prefix)
        else:
            found.append(path)
    return list(map(str, found))
