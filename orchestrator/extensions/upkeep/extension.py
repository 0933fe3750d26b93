"""The extension for background work that may be late and is done between answers."""

from orchestrator.extension import DaemonView, Extension, Part


class UpkeepExtension(Extension):
    """Removes old records and checks the journal."""

    name = "upkeep"
    file_fields = ("retention",)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.upkeep.upkeep_part import UpkeepPart

        return UpkeepPart(daemon)
