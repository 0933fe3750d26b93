"""The extension for versions: a safety net under every change of what people configure."""

from orchestrator.extension import DaemonView, Extension, Part

COMMANDS = "orchestrator.extensions.versions.commands"


class VersionsExtension(Extension):
    """Checks, saves and undoes edits of agents.json, prompts and skills, and keeps versions."""

    name = "versions"

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.versions.versions_part import VersionsPart

        return VersionsPart(daemon)
