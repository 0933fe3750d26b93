"""A model on loopback that knows no tool calling: it reads and writes text, byte by byte."""

import json
import re
from typing import Any

from fakes.held_model import HeldModel, system
from fakes.model_api import Received, Reply

from orchestrator.extensions.text_tool_calls.worker.inject import format_tool_call

RESULT = re.compile(r'<tool_result name="(\w+)" id="(\w+)">(.*?)</tool_result>', re.DOTALL)
KEY = re.compile(r"<tool_key>(\w+)</tool_key>$")
REFUSAL = "this model does not support tools"


class TextModel(HeldModel):
    """Stores ``wanted`` facts one after the other when it is told how, then says so.

    Like Ollama it refuses requests with tools. Its answers are streamed one byte at a time.
    """

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.wanted = wanted

    def echo(self, body: dict[str, Any]) -> Reply:
        """The next call, or the end."""
        if "tools" in body or any("tool_calls" in message for message in body["messages"]):
            return Reply(REFUSAL, status=400, kind="api_error")
        results = self.results(body)
        if len(results) == self.wanted:
            return Reply(f"Stored {self.wanted} facts.", chunk=1)
        fact = {"fact": f"Fact </tool_call> {len(results)}", "category": "background"}
        key = KEY.search(str(body["messages"][-1]["content"]))
        made = format_tool_call("store_fact", json.dumps(fact), key[1] if key else "")
        return Reply(f"Step {len(results)}. {made}", chunk=1)

    def results(self, body: dict[str, Any]) -> list[tuple[str, str, str]]:
        """The tool results in a request: name, id and content, in order."""
        assert "- store_fact(" in system(Received("", {}, body))
        said = [m["content"] for m in body["messages"] if m["role"] == "user"]
        return [found for text in said for found in RESULT.findall(text)]
