"""Make the parts of extensions in a daemon."""

import structlog

from orchestrator.active_extensions import ask_active
from orchestrator.daemon.guarded_part import GuardedPart
from orchestrator.extension import DaemonView, Part
from orchestrator.installed import Loaded, find_installed

log = structlog.get_logger()


def make_parts(view: DaemonView) -> tuple[Part, ...]:
    """Return the parts of bundled extensions, and of those that agents.json names.

    A fault in a third-party extension disables only its part, and is logged.
    """
    found = find_installed()

    def build_part(extension: Loaded) -> Part | None:
        part: Part | None = extension.build_part(view)
        if part is None or extension in found.own.values():
            return part
        return GuardedPart(extension.name, part)

    for name, problem in found.broken.items():
        log.warning("extension_left_out", extension=name, problem=problem)
    made = ask_active(view.get_agents_file(), build_part)
    return tuple(part for _, part in made if part is not None)
