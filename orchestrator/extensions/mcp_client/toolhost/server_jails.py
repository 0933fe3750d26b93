"""Order the jail of each server, and give the server usable folders in it."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from orchestrator.extensions.mcp_client.toolhost import known_places
from orchestrator.extensions.mcp_client.toolhost.covering import is_inside
from orchestrator.extensions.mcp_client.toolhost.jail_order import (
    JailOrder,
    Network,
    Surroundings,
    list_named_paths,
)
from orchestrator.extensions.mcp_client.toolhost.wire import ServerJail, ServerSpec
from thinker.protocol.env import select_inherited_variables

# What programs of a user find by HOME, which is the server's own folder, or else by a variable.
FOUND = {
    "GIT_CONFIG_GLOBAL": ".gitconfig",
    "PLAYWRIGHT_BROWSERS_PATH": ".cache/ms-playwright",
    "PYENV_ROOT": ".pyenv",
    "NVM_DIR": ".nvm",
    "RUSTUP_HOME": ".rustup",
    "VOLTA_HOME": ".volta",
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
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
        path = spec.env.get("PATH") or os.environ.get("PATH")
        command = shutil.which(spec.command, path=path) or spec.command
        return JailOrder(
            home=self.around.home,
            private=str(private),
            supervisor=self.supervisor,
            off=spec.sandbox == "off",
            required=self.required,
            bundled=spec.bundled,
            **(
                {}
                if spec.sandbox == "off"
                else list_openings(self.around, command, spec.sandbox, proxy)
            ),
        )


UNJAILED = ServerJails(None)
NO_ORDER = JailOrder("", private=".", supervisor=0, off=True)


class _Openings(TypedDict, total=False):
    run: tuple[str, ...]
    write: tuple[str, ...]
    closed: tuple[str, ...]
    fixed: tuple[str, ...]
    network: Network
    proxy: int
    sockets: bool
    namespaces: bool


def list_openings(
    around: Surroundings, command: str, wanted: ServerJail, proxy: int = 0
) -> _Openings:
    """Return what a jail leaves open: with named paths no others, else all but secrets to read."""
    run, write = list(around.shown), list[str]()
    if wanted.read is not None or wanted.write is not None:
        run, write = list_named_paths(around, command, wanted.read or (), wanted.write or ())
    network: Network = "open" if wanted.network is True else "proxy" if proxy else "none"
    return _Openings(
        run=tuple(run),
        write=(*write, *known_places.DEVICES),
        closed=tuple(
            path for path in filter(os.path.exists, around.secrets) if not is_inside(path, run)
        ),
        fixed=(f"{around.home}/servers", *filter(os.path.exists, known_places.list_program())),
        network=network,
        proxy=proxy,
        sockets=wanted.sockets,
        namespaces=wanted.namespaces,
    )


def list_allowed_hosts(spec: ServerSpec) -> tuple[str, ...]:
    """List the hosts that a server may reach through a proxy, if they are restricted."""
    wanted = spec.sandbox
    network = () if wanted == "off" else wanted.network
    return () if isinstance(network, bool) else network


def build_environment(order: JailOrder, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a server's environment, in which its own folder is home.

    So caches and settings that programs make are its own, and kept between its starts.
    """
    given = select_inherited_variables(environ)
    if order.off:
        return given
    temporary = Path(order.private, "tmp")
    temporary.mkdir(mode=0o700, exist_ok=True)
    user = given.get("HOME") or "/nonexistent"
    for variable, name in FOUND.items():
        path = os.path.realpath(f"{user}/{name}")
        if os.path.exists(path) and is_inside(path, order.run):  # noqa: PTH110 - text
            given[variable] = path
    if order.proxy:
        address = f"http://127.0.0.1:{order.proxy}"
        given |= dict.fromkeys(PROXY_VARIABLES, address) | {"NODE_USE_ENV_PROXY": "1"}
    return {**given, "HOME": order.private, "TMPDIR": str(temporary)}
