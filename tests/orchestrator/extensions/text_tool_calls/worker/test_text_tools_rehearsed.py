"""Rehearsed turns with tools as text."""

import orjson
from fakes.scripted import spec, turn_run

from thinker.agent import Agent
from thinker.models.openai_chat import OpenAIChat
from thinker.models.retry import FallbackModel, RetryingModel
from thinker.models.structured import StructuredOutput
from thinker.models.tool_offers import wrap_tool_calls
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.providers import PROVIDERS


async def test_request_is_built_by_every_wrapper_and_not_sent() -> None:
    """Nothing listens at the address, and nothing is tried twice."""
    plain = OpenAIChat(PROVIDERS["openai"], "m", "http://127.0.0.1:1/v1", "")
    wrapped = wrap_tool_calls(StructuredOutput(plain, "auto", beside_tools=True), "text")
    agent = Agent(ThinkerSettings(agent_id="a"), FallbackModel([RetryingModel(wrapped)]))
    found = await agent.preview_prompt(turn_run("hello", spec("add")))
    body = orjson.loads(found.request)
    assert body["model"] == "m"
    assert body["messages"][0] == {"role": "system", "content": found.record.text}
    assert found.record.layers[0].name == "tool_calls"
    assert body["messages"][1]["content"].endswith("hello")
    await agent.aclose()
