"""Make the parts of extensions in a daemon."""

import structlog

from orchestrator.active_extensions import ask_active
from orchestrator.daemon.guarded_part import GuardedPart
from orchestrator.extension import DaemonView, Part
from orchestrator.installed import find_installed

log = structlog.get_logger()


def make_parts(view: DaemonView) -> tuple[Part, ...]:
    """Return the parts of bundled extensions, and of those that agents.json names.

    A fault in a third-party extension disables only its part, and is logged.
    """
    found = find_installed()
    for name, problem in found.broken.items():
        log.warning("extension_left_out", extension=name, problem=problem)
    own = found.own.values()
    made = ask_active(view.get_agents_file(), lambda extension: extension.part(view))
    return tuple(
        part if extension in own else GuardedPart(extension.name, part)
        for extension, part in made
        if part is not None
    )
