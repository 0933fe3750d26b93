"""Order the jail of each server, and give the server usable folders in it."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from orchestrator.extensions.mcp_client.toolhost.covering import is_inside
from orchestrator.extensions.mcp_client.toolhost.jail_order import JailOrder, Network, Surroundings
from orchestrator.extensions.mcp_client.toolhost.wire import ServerJail, ServerSpec
from thinker.protocol.env import select_inherited_variables

# Where programs keep what they download and make, by the variable that says otherwise.
FOLDERS = {
    "TMPDIR": ("/tmp", "tmp"),  # noqa: S108 - the place that programs use by themselves
    "XDG_CACHE_HOME": ("~/.cache", "cache"),
    "XDG_DATA_HOME": ("~/.local/share", "data"),
    "npm_config_cache": ("~/.npm", "npm"),
    "UV_CACHE_DIR": ("~/.cache/uv", "uv"),
}
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@dataclass(frozen=True)
class ServerJails:
    """The jails of all servers of a daemon; ``required`` refuses servers with a weaker one."""

    around: Surroundings | None
    supervisor: int = 0
    required: bool = False

    def build_order(self, spec: ServerSpec, proxy: int = 0) -> JailOrder:
        """Build the order of a server's jail, and make its private folder."""
        if self.around is None:
            return NO_ORDER
        private = Path(self.around.home, "servers", spec.name)
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        private.chmod(0o700)
        wanted = spec.sandbox
        path = spec.env.get("PATH") or os.environ.get("PATH")
        return JailOrder(
            around=self.around,
            private=str(private),
            supervisor=self.supervisor,
            command=shutil.which(spec.command, path=path) or spec.command,
            off=wanted == "off",
            required=self.required,
            bundled=spec.bundled,
            **({} if wanted == "off" else _build_limits(wanted, proxy)),
        )


UNJAILED = ServerJails(None)
NO_ORDER = JailOrder(Surroundings(""), private=".", supervisor=0, command="", off=True)


class _Limits(TypedDict, total=False):
    read: tuple[str, ...] | None
    write: tuple[str, ...] | None
    network: Network
    proxy: int
    sockets: bool


def _build_limits(wanted: ServerJail, proxy: int) -> _Limits:
    network: Network = "open" if wanted.network is True else "proxy" if proxy else "none"
    return _Limits(
        read=wanted.read,
        write=wanted.write,
        network=network,
        proxy=proxy,
        sockets=wanted.sockets,
    )


def list_allowed_hosts(spec: ServerSpec) -> tuple[str, ...]:
    """List the hosts that a server may reach through a proxy, if they are restricted."""
    wanted = spec.sandbox
    network = () if wanted == "off" else wanted.network
    return () if isinstance(network, bool) else network


def build_environment(order: JailOrder, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment, with folders of its own in place of those out of reach."""
    given = select_inherited_variables(environ)
    if order.off:
        return given
    writable = [str(path) for path in order.build_grants().all]
    home = given.get("HOME", "")
    if not _can_use_home(home, order, writable):
        home = given["HOME"] = order.private
    if order.proxy:
        address = f"http://127.0.0.1:{order.proxy}"
        given |= dict.fromkeys(PROXY_VARIABLES, address) | {"NODE_USE_ENV_PROXY": "1"}
    for variable, (usual, own) in FOLDERS.items():
        if not _can_make(usual.replace("~", home), writable):
            folder = Path(order.private, own)
            folder.mkdir(mode=0o700, exist_ok=True)
            given[variable] = str(folder)
    return given


def _can_use_home(home: str, order: JailOrder, writable: list[str]) -> bool:
    """Return whether a server can use its user's home."""
    if not home or not Path(home).is_dir():
        return False
    real = os.path.realpath(home)
    return is_inside(real, writable) or not (
        order.is_narrow or is_inside(real, [order.around.home])
    )


def _can_make(path: str, writable: list[str]) -> bool:
    """Return whether a folder can be written, or made in the first one above that exists."""
    folder = Path(path).resolve()
    while not folder.is_dir():
        folder = folder.parent
    return is_inside(str(folder), writable) and os.access(folder, os.W_OK)
