"""Checks of workspaces and web access: folders that cannot be used, and what opens a jail."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.agentsfile.draft import Draft
from orchestrator.agentsfile.hand_settings import Workspace

HOME = "ORCHESTRATOR_HOME"
DEFAULT_HOME = "~/.orchestrator"  # as in the daemon's settings


def check_hands(draft: Draft, environ: Mapping[str, str] | None, home: Path | None) -> None:
    """Warn of each setting that opens a jail, and report folders that cannot be used.

    ``home`` is the daemon's; when None, that of the environment.
    """
    home = _real(str(home or (environ or {}).get(HOME) or DEFAULT_HOME))
    for number, agent in draft.agents.items():
        at = ("agents", number)
        name = agent.agent_id
        if agent.workspace is not None:
            _paths(draft, (*at, "workspace", "paths"), name, agent.workspace, home)
            for field, text in _openings(agent.workspace):
                draft.warn((*at, "workspace", field), f"agent '{name}': {text}", name)
        if agent.web is not None:
            for host in agent.web.allow_private:
                text = f"agent '{name}' may fetch from {host}, whatever its address is"
                draft.warn((*at, "web", "allowPrivate"), text, name)


def overlaps(path: Path, home: Path) -> bool:
    """Return whether a folder holds the daemon's home or lies in it; both are real paths."""
    return path.is_relative_to(home) or home.is_relative_to(path)


def _paths(
    draft: Draft, at: tuple[str | int, ...], name: str, settings: Workspace, home: Path
) -> None:
    for text, mode in settings.paths.items():
        path, what = _real(text), f"agent '{name}': the workspace folder \"{text}\""
        if overlaps(path, home):
            draft.warn(
                (*at, text), f"{what} holds or is in the daemon's home, so it is not used", name
            )
        elif not path.is_dir():
            draft.warn((*at, text), f"{what} is no folder here; create it", name)
        elif mode == "rw":
            draft.warn((*at, text), f"{what} can be changed by what its model is told", name)


def _openings(settings: Workspace) -> Iterator[tuple[str, str]]:
    if settings.network is True:
        yield "network", "commands of its workspace reach the network and this machine's services"
    elif settings.network:
        yield "network", f"commands of its workspace reach {', '.join(settings.network)}"
    if settings.sandbox == "off":
        yield "sandbox", "on a kernel without Landlock its commands reach all files of the user"


def _real(text: str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111 - keeps an unknown user
