"""The schema of an answer in the format of the Messages API."""

from dataclasses import replace

from orchestrator.extensions.anthropic.worker.anthropic_messages import (
    build_request_body as anthropic_body,
)
from thinker.models.base import ModelRequest
from thinker.models.failures import Account
from thinker.protocol.messages import JsonObject, UserMessage
from thinker.protocol.providers import PROVIDERS

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0}},
    "required": ["n"],
}


TOLD: JsonObject = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


ASKED = ModelRequest("Be brief.", (UserMessage(content="how many?"),), output=SCHEMA)


CLAUDE = Account(PROVIDERS["anthropic"], "m")


def test_anthropic_is_sent_it_closed_or_not_at_all() -> None:
    """The prompt describes it in any case."""
    config = anthropic_body(CLAUDE, ASKED)["output_config"]
    assert config == {"format": {"type": "json_schema", "schema": TOLD}}
    assert "output_config" not in anthropic_body(CLAUDE, replace(ASKED, output={"type": "object"}))
