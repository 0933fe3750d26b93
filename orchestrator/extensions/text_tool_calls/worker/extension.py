"""Give workers the text protocol of tool calls."""

from orchestrator.extensions.text_tool_calls.worker.text_tools import TextTools
from thinker.extension import WorkerExtension
from thinker.models.base import Model


class TextToolsWorker(WorkerExtension):
    """Offers tools as text."""

    def offer_tools_as_text(self, model: Model, *, full: bool) -> TextTools:
        return TextTools(model, full=full)
