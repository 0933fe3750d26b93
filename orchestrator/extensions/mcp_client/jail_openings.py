"""What agents.json opens in the jail of an MCP server, and what a server may miss in its jail."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from orchestrator.agentsfile import AgentsFile, McpServer, ServerSandbox
from orchestrator.extensions.mcp_client.toolhost import known_places
from orchestrator.extensions.mcp_client.toolhost.covering import is_inside
from orchestrator.extensions.mcp_client.toolhost.jail_order import SYSTEM
from orchestrator.findings import Finding

MAX_LOOKED_AT = 2000  # entries of a folder and its folders, in the search for repositories
# A file of these kinds is a program, which need not be written to.
PROGRAMS = (
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".py",
    ".sh",
    ".jar",
    ".rb",
    ".pl",
    ".php",
    ".lua",
    ".wasm",
)
REFUSED = (
    "{path} holds keys or starts programs outside of the jail, so no server may write there; remove"
    ' it from "write", and put what the server needs into its own folder'
)


class Opening(NamedTuple):
    """A field of ``sandbox`` ("" for all of it), and what the server can do because of it."""

    field: str
    effect: str
    refused: bool = False


def list_jail_openings(sandbox: ServerSandbox | str) -> Iterator[Opening]:
    """Yield what the ``sandbox`` of a server opens beyond the usual jail."""
    if not isinstance(sandbox, ServerSandbox):
        yield Opening("", "it can read and change what the tool host can, and use any socket")
        return
    if sandbox.sockets:
        yield Opening("sockets", "it can ask programs outside of its jail to act for it")
    if sandbox.namespaces:
        yield Opening("namespaces", "it reaches parts of the kernel that only root reaches else")
    secrets = known_places.list_secret_places(os.environ)
    for path in sandbox.read or ():
        if is_inside(_resolve(path), secrets):
            yield Opening("read", f"it reads {path}, which holds keys or other secrets")
    starting = known_places.list_starting_places(os.environ)
    for path in sandbox.write or ():
        real = _resolve(path)
        if is_inside(real, (*starting, *secrets)):
            yield Opening("write", REFUSED.format(path=path), refused=True)
        else:
            yield Opening("write", _describe_writing(path, real, starting))


def list_jail_findings(file: AgentsFile) -> Iterator[Finding]:
    """Yield a line for each server that runs here: what its jail leaves open."""
    for name, server in file.mcp_servers.items():
        if server.command is None or not server.is_enabled:
            continue
        subject = f"jail of MCP server {name}"
        found = [opening.effect for opening in list_jail_openings(server.sandbox)]
        network = _describe_network(server.sandbox)
        if found or file.sandbox == "off":
            off = ["there is none, as agents.json says"] if file.sandbox == "off" else []
            yield Finding(subject, "; ".join([*off, *found, network]), "warning")
        else:
            yield Finding(subject, f"it writes its own folder alone; {network}")


def _describe_network(sandbox: ServerSandbox | str) -> str:
    network = sandbox.network if isinstance(sandbox, ServerSandbox) else True
    if isinstance(network, bool):
        return "the network is open" if network else "no network"
    return f"it reaches {', '.join(network) or 'no host'}"


def _describe_writing(path: str, real: str, starting: list[str]) -> str:
    if any(is_inside(other, [real]) for other in (*starting, str(Path("~").expanduser()))):
        return (
            f"it can change {path} but for known places of keys and programs; name the folders in"
            " it that the server needs"
        )
    if ".git" in Path(real).parts or _has_repository(Path(real)):
        return (
            f"it can change {path} and with it the hooks and settings of a Git repository, which"
            " start programs outside of the jail when you use git there; look at .git/config and"
            " .git/hooks before"
        )
    if not os.path.exists(real):  # noqa: PTH110 - text
        return f"it can change {path}, which is not there; make it, and start the daemon again"
    return f"it can change {path}"


def _has_repository(folder: Path) -> bool:
    """Return whether a folder, one in it or one in that is a Git repository, as far as looked."""
    looked = islice(_walk_folders(folder, depth=2), MAX_LOOKED_AT)
    return any((path / ".git").exists() for path in looked)


def _walk_folders(folder: Path, depth: int) -> Iterator[Path]:
    yield folder
    if depth:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        yield from _walk_folders(Path(entry.path), depth - 1)
        except OSError:  # not a folder, or closed to this user
            return


def list_missed_paths(server: McpServer) -> Iterator[str]:
    """Yield what is said about paths that a server without ``sandbox`` names, but cannot use.

    Before, such servers could write almost anywhere and read the keys of their user.
    """
    if server.command is None or "sandbox" in server.model_fields_set:
        return
    secrets = known_places.list_secret_places(os.environ)
    given = (*server.args, *server.env.values(), *([server.cwd] if server.cwd else ()))
    for path in dict.fromkeys(_find_named_paths(given)):
        if is_inside(_resolve(path), secrets):
            opened = json.dumps({"read": ["/", path]})
            yield (
                f"cannot read {path}, where keys and other secrets usually are; if it must, write"
                f' "sandbox": {opened}'
            )
        elif _may_be_written(path):
            opened, closed = (
                json.dumps({"read": ["/"], "write": [path]}),
                json.dumps({"read": ["/"]}),
            )
            yield (
                f'can read {path}, but not change it; if it must, write "sandbox": {opened}, and'
                f' if not, "sandbox": {closed}'
            )


def _find_named_paths(given: tuple[str, ...]) -> Iterator[str]:
    """Yield the paths among arguments and values, also those of ``--option=PATH``."""
    for text in given:
        path = text.partition("=")[2] if text.startswith("-") else text
        if path.startswith(("/", "~/")) and "\0" not in path and os.path.exists(_resolve(path)):  # noqa: PTH110 - text
            yield path


def _may_be_written(path: str) -> bool:
    real = _resolve(path)
    usual = (*SYSTEM, *known_places.list_code_folders(), known_places.DEVICE_FOLDER)
    return (
        real != "/"
        and not is_inside(real, usual)
        and not real.endswith(PROGRAMS)
        and os.access(real, os.W_OK)
    )


def _resolve(path: str) -> str:
    return os.path.realpath(Path(path).expanduser())
