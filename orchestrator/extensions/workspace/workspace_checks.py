"""Checks of workspaces and web access: folders that cannot be used, and what opens a jail."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from orchestrator.agentsfile import AgentDefinition
from orchestrator.agentsfile.agents_file import list_openings
from orchestrator.agentsfile.draft import Draft
from orchestrator.extensions.workspace.agent_settings import (
    DDGS,
    Web,
    Workspace,
    WorkspaceFields,
)
from orchestrator.extras import explain_missing
from orchestrator.turn_access import OPERATED

HOME = "ORCHESTRATOR_HOME"
PROGRAM = Path(__file__).resolve().parents[3]
DEFAULT_HOME = "~/.orchestrator"  # as in the daemon's settings


def check_workspaces(draft: Draft, environ: Mapping[str, str] | None, home: Path | None) -> None:
    """Warn about each setting that opens a jail, and report folders that cannot be used.

    ``home`` is the daemon's home; None means the one that the environment names.
    """
    home = _resolve_path(str(home or (environ or {}).get(HOME) or DEFAULT_HOME))
    for number, agent in draft.agents.items():
        at = ("agents", number)
        name, own = agent.agent_id, agent.get_fields(WorkspaceFields)
        if own.workspace is not None:
            _check_sharing(draft, at, agent)
            _check_paths(draft, (*at, "workspace", "paths"), name, own.workspace, home)
            for field, text in _list_openings(own.workspace):
                draft.add_warning((*at, "workspace", field), f"agent '{name}': {text}", name)
        if own.web is not None:
            for host in own.web.allow_private:
                text = f"agent '{name}' may fetch from {host}, whatever its address is"
                draft.add_warning((*at, "web", "allowPrivate"), text, name)
            if environ is not None:
                for path, text in _list_missing_libraries(own.web):
                    draft.add_warning((*at, *path), f"agent '{name}' {text}", name)


def overlaps_home(path: Path, home: Path) -> bool:
    """Return whether a folder contains the daemon's home or lies in it; both are real paths."""
    return path.is_relative_to(home) or home.is_relative_to(path)


def overlaps_program(path: Path) -> bool:
    """Return whether a folder holds the daemon's program, which has no jail, or lies in it."""
    return overlaps_home(path, PROGRAM)


def _check_paths(
    draft: Draft, at: tuple[str | int, ...], name: str, settings: Workspace, home: Path
) -> None:
    for text, mode in settings.paths.items():
        path, what = _resolve_path(text), f"agent '{name}': the workspace folder \"{text}\""
        if overlaps_home(path, home):
            draft.add_warning(
                (*at, text), f"{what} holds or is in the daemon's home, so it is not used", name
            )
        elif mode == "rw" and overlaps_program(path):
            draft.add_warning(
                (*at, text),
                f"{what} holds or is in the daemon's program, which commands would change, so it is"
                ' not used; "ro" can be',
                name,
            )
        elif not path.is_dir():
            draft.add_warning((*at, text), f"{what} is not a folder here; create it", name)
        elif mode == "rw":
            said = f"{what} can be changed by what its model is told"
            if (path / ".git").exists():
                said += ", with the hooks of its Git repository, which git runs outside of the jail"
            draft.add_warning((*at, text), said, name)


def _check_sharing(draft: Draft, at: tuple[str | int, ...], agent: AgentDefinition) -> None:
    """Warn where several people work in one folder, as they share one memory."""
    name = agent.agent_id
    bindings, fallback = draft.bindings.values(), draft.fallback_agent_id
    open_to = list_openings(agent, bindings, fallback, draft.channels)
    if agent.memory != "agent" and (agent.memory == "person" or open_to):
        return
    own = [item for item in bindings if item.agent_id == name and item.chat_id != "*"]
    places = [*open_to, *(item.place for item in own if item.channel not in OPERATED)]
    if open_to or len(places) > 1:
        text = (
            f"agent '{name}' has one workspace for all chats, as they share its memory"
            f" ({', '.join(places)}): each reads, changes and runs the files of the others; set"
            ' "memory" to "person" to keep people apart'
        )
        draft.add_warning((*at, "workspace"), text, name)


def _list_openings(settings: Workspace) -> Iterator[tuple[str, str]]:
    if settings.network is True:
        yield "network", "commands of its workspace reach the network and this machine's services"
    elif settings.network:
        yield "network", f"commands of its workspace reach {', '.join(settings.network)}"
    if settings.sandbox == "off":
        yield "sandbox", "on a kernel without Landlock its commands reach all files of the user"


def _list_missing_libraries(web: Web) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the field that needs each missing library, and what cannot be done without it."""
    unread = explain_missing(("html_to_markdown",), "workspace")
    if unread:
        yield ("web",), f"can read no HTML, because {unread}"
    unsearched = explain_missing((DDGS,), "search") if web.search == DDGS else ""
    if unsearched:
        yield ("web", "search"), f"cannot search, because {unsearched}"


def _resolve_path(text: str) -> Path:
    return Path(os.path.realpath(os.path.expanduser(text)))  # noqa: PTH111 - keeps an unknown user
