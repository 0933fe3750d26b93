"""The extension for background work that may be late and is done between answers."""

from orchestrator.extension import DaemonView, Extension, Part


class UpkeepExtension(Extension):
    """Summarizes long conversations, learns facts, removes old records, checks the journal."""

    name = "upkeep"
    file_fields = ("retention",)
    file_agent_fields = ("compaction", "factExtraction")

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.upkeep.upkeep_part import UpkeepPart

        return UpkeepPart(daemon)
