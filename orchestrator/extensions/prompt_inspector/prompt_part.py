"""The preview that `orchestrator prompt show` requests from a running daemon."""

from collections.abc import Mapping

from pydantic import JsonValue, TypeAdapter

from orchestrator.errors import OrchestratorError
from orchestrator.extension import Part
from thinker.protocol.methods import PROMPT_PREVIEW
from thinker.protocol.peer import FAILED, Peer, RequestHandler, RpcError
from thinker.protocol.prompt_record import PromptPreview


class PreviewPart(Part):
    """Previews prompts."""

    def list_control_methods(self, peer: Peer | None) -> Mapping[str, RequestHandler]:
        del peer
        return {PROMPT_PREVIEW: self._preview_prompt}  # ImaginedMessage → PromptPreview

    async def _preview_prompt(self, params: JsonValue) -> PromptPreview:
        # Most daemons are never asked, so they do not load it.
        from orchestrator.extensions.prompt_inspector.rehearsal import (
            ImaginedMessage,
            request_preview,
        )

        asked = TypeAdapter(ImaginedMessage).validate_python(params)
        try:
            return await request_preview(self.daemon.turns, asked)
        except OrchestratorError as error:
            raise RpcError(FAILED, str(error)) from error
