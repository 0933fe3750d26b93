"""Make the parts of extensions in a daemon."""

from collections.abc import Iterable

import structlog

from orchestrator.active_extensions import list_active_names
from orchestrator.daemon.guarded_part import GuardedPart
from orchestrator.extension import DaemonView, Part
from orchestrator.installed import find_installed

log = structlog.get_logger()


class EditedExtensions(Part):
    """Tells which extensions an edit of agents.json begins or ends, but for what runs already."""

    def __init__(self, daemon: DaemonView) -> None:
        super().__init__(daemon)
        self._started = list_active_names(daemon.get_agents_file())

    def list_hints(self) -> Iterable[str]:
        named = list_active_names(self.daemon.get_agents_file())
        for name in sorted(named ^ self._started):
            change = "begins" if name in named else "ends"
            yield f"the extension {name!r} {change} with the next start; only its tools do already"


def make_parts(view: DaemonView) -> tuple[Part, ...]:
    """Return the parts of bundled extensions, and guarded ones of those that agents.json names."""
    found = find_installed()
    for name, problem in found.broken.items():
        log.warning("extension_left_out", extension=name, problem=problem)
    own = [extension.build_part(view) for extension in found.own.values()]
    named = sorted(list_active_names(view.get_agents_file()) & found.foreign.keys())
    guarded = [GuardedPart(name, view, found.foreign[name].build_part) for name in named]
    return (*filter(None, own), *guarded, EditedExtensions(view))
