"""The extension for media: a service for turns and answers, and a drawing tool."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extension import DaemonView, Extension, Part

if TYPE_CHECKING:
    from orchestrator.agentsfile.draft import Draft
    from orchestrator.tools.builtin.host_tool import HostTool


class MediaExtension(Extension):
    """Transcripts, speech and pictures, by the agents' models."""

    name = "media"

    def check_agents_file(
        self, draft: "Draft", environ: Mapping[str, str] | None, home: Path | None
    ) -> None:
        from orchestrator.extensions.media.media_checks import check_unused_models

        del environ, home
        check_unused_models(draft)

    def list_tools(self) -> "Sequence[HostTool]":
        from orchestrator.extensions.media.picture_tools import draw_picture

        return (draw_picture,)

    def build_part(self, daemon: DaemonView) -> Part:
        from orchestrator.extensions.media.media_part import MediaPart

        return MediaPart(daemon)
