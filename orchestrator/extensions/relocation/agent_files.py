"""The files of an agent in a home, and their copies in another one, compared byte by byte."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.agentsfile import AgentDefinition
from orchestrator.errors import OrchestratorError
from orchestrator.home_paths import Paths

DRAFT = ".arriving"  # ends the name of a copy that is not whole yet


@dataclass(frozen=True)
class FileSet:
    """Folders and files by their paths below the home.

    ``own`` are the agent's alone. ``shared`` others may use: they are copied where the target has
    none of that name.
    """

    own: tuple[str, ...]
    shared: tuple[str, ...] = ()


def list_agent_files(paths: Paths, agent: AgentDefinition, skills: tuple[Path, ...]) -> FileSet:
    """List an agent's existing files; ``skills`` are the home's skills that run for it."""
    agent_id = agent.agent_id
    own = (
        paths.personas / agent_id,
        paths.workspaces / agent_id,
        paths.find_chat_workspaces(agent_id),
    )
    shared = [path for path in skills if path.is_relative_to(paths.home)]
    if agent.prompt is not None:
        shared += sorted(paths.prompts.glob(f"{agent.prompt}.*"))
    shared += [paths.hooks / f"{name}.py" for name in agent.hooks]
    return FileSet(
        tuple(str(path.relative_to(paths.home)) for path in own if os.path.lexists(path)),
        tuple(str(path.relative_to(paths.home)) for path in shared if os.path.lexists(path)),
    )


def list_conflicts(files: FileSet, target: Path) -> list[str]:
    """Return the agent's own files that the target has already."""
    return [name for name in files.own if os.path.lexists(target / name)]


def copy_files(files: FileSet, source: Path, target: Path) -> int:
    """Copy what the target has not, and return the number of files that were compared.

    Raises:
        OrchestratorError: a copy differs from its original, or cannot be written.
    """
    count = 0
    for name in (*files.own, *files.shared):
        if not os.path.lexists(target / name):
            count += _copy_whole(source / name, target / name)
    return count


def remove_files(files: FileSet, target: Path) -> None:
    """Remove the copies of the agent's own files; shared ones stay."""
    for name in files.own:
        path = target / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def count_files(files: FileSet, home: Path) -> int:
    return sum(1 for name in (*files.own, *files.shared) for _ in _iter_files(home / name))


def list_special_files(files: FileSet, home: Path) -> list[str]:
    """Return what is neither a file, a folder nor a link, such as a socket: it is not copied."""
    found = (one for name in (*files.own, *files.shared) for one in (home / name).rglob("*"))
    return sorted(str(one.relative_to(home)) for one in found if _is_special(one))


def digest_tree(path: Path) -> dict[str, str]:
    """Return the SHA-256 digest of each file below a path, and of the target of each link."""
    return {str(found.relative_to(path)): _digest_file(found) for found in _iter_files(path)}


def _digest_file(path: Path) -> str:
    if path.is_symlink():
        return hashlib.sha256(os.fsencode(path.readlink())).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _copy_whole(source: Path, target: Path) -> int:
    """Copy a file or folder; it has its name only once it is whole."""
    draft = target.with_name(f"{target.name}{DRAFT}")
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if draft.is_dir() and not draft.is_symlink():
            shutil.rmtree(draft)
        draft.unlink(missing_ok=True)
        if source.is_dir() and not source.is_symlink():
            shutil.copytree(source, draft, symlinks=True, ignore=_list_special_names)
        else:
            shutil.copy2(source, draft, follow_symlinks=False)
        found = digest_tree(draft)
        if digest_tree(source) != found:
            raise OrchestratorError(f"{source} changed while it was copied; run the move again")
        draft.rename(target)
    except OSError as error:
        why = error.strerror or error
        raise OrchestratorError(
            f"{error.filename or target} cannot be copied ({why}); correct that, and run the move"
            " again"
        ) from error
    return len(found)


def _list_special_names(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if _is_special(Path(folder, name))]


def _is_special(path: Path) -> bool:
    usual = path.is_symlink() or path.is_file() or path.is_dir()
    return not usual and os.path.lexists(path)


def _iter_files(path: Path) -> Iterator[Path]:
    if path.is_symlink() or path.is_file():
        yield path
        return
    for found in sorted(path.rglob("*")):
        if found.is_symlink() or found.is_file():
            yield found
