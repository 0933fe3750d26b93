"""Collect the additions of the active extensions of an agents.json."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import structlog

from orchestrator import installed
from orchestrator.agentsfile import AgentsFile, Problem
from orchestrator.errors import FAULTS, describe_fault
from orchestrator.installed import Loaded
from orchestrator.settings import Settings

T = TypeVar("T")
log = structlog.get_logger()


def list_active_names(file: AgentsFile) -> frozenset[str]:
    """Return the names of bundled extensions and of the third-party ones that the file names."""
    found = installed.find_installed()
    return frozenset((*found.own, *(name for name in found.foreign if name in file.extensions)))


def ask_active(file: AgentsFile, question: Callable[[Loaded], T]) -> Iterator[tuple[Loaded, T]]:
    """Yield each active extension with its answer; log a third-party extension that fails."""
    found = installed.find_installed()
    for extension in found.own.values():
        yield extension, question(extension)
    for name in sorted(list_active_names(file) & found.foreign.keys()):
        try:
            answer = question(found.foreign[name])
        except FAULTS:
            log.exception("extension_broke", extension=name)
        else:
            yield found.foreign[name], answer


def list_file_problems(settings: Settings, file: AgentsFile, found: object) -> Iterator[Problem]:
    """Yield the problems that extensions report in the prompts or skills ``found``.

    A failure of a third-party extension becomes a warning.
    """
    own, foreign = installed.find_installed()[:2]
    for name in sorted(list_active_names(file)):
        try:
            yield from tuple((own.get(name) or foreign[name]).check_files(settings, file, found))
        except FAULTS as error:
            if name in own:
                raise
            text = f"extension '{name}' cannot check files: {describe_fault(error)}"
            yield Problem("warning", "agents.json", 0, None, text, path="extensions")
