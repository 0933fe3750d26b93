"""The extension for prompts: one command."""

from collections.abc import Mapping

from orchestrator.extension import Command, DaemonView, Extension, Part


class PromptInspectorExtension(Extension):
    """Shows what a model sees, layer by layer."""

    name = "prompt_inspector"

    def list_commands(self) -> Mapping[str, Command]:
        return {
            "prompt": Command(
                "Agents",
                "Show, check and compare prompts.",
                "orchestrator.extensions.prompt_inspector.commands",
            )
        }

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.prompt_inspector.prompt_part import PreviewPart

        return PreviewPart(daemon)
