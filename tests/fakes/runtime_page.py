"""The programs of the manual's page on agents in Python, run against a provider on loopback."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import orjson
from fakes.anthropic_api import AnthropicApi
from fakes.manual import REFERENCES, examples
from fakes.model_api import Reply
from fakes.time_limit import time_limit

from thinker.runtime import Runtime, RuntimeEvent, RuntimeSpec, create_runtime

ACTION = {"product": "a", "discount_percent": 5}
PLAN = {"title": "Q3", "actions": [ACTION]}
Answer = Callable[[dict[str, Any]], Reply]


@cache
def names() -> dict[str, Any]:
    """What the page's programs define, run in one namespace as they stand there."""
    defined: dict[str, Any] = {"__name__": "page"}
    for example in examples(REFERENCES / "runtime.md"):
        if example.info == "python":
            exec(compile(example.text, "runtime.md", "exec"), defined)  # noqa: S102 - our own page
    return defined


@dataclass
class PageWorld:
    """A runtime, the provider that it asks, and what the program was told."""

    api: AnthropicApi
    events: list[RuntimeEvent] = field(default_factory=list)
    runtime: Runtime = field(init=False)

    def kinds(self) -> list[tuple[str, str]]:
        """What happened, without the texts."""
        return [(event.kind, event.agent) for event in self.events if event.kind != "text"]

    def systems(self) -> list[str]:
        """The system prompt of each request."""
        return [request.body["system"][0]["text"] for request in self.api.requests]


@asynccontextmanager
async def world(
    answer: Answer, spec: RuntimeSpec | None = None, **given: Any
) -> AsyncGenerator[PageWorld]:
    """A runtime of the page's specification whose provider answers so."""
    with time_limit():
        async with AnthropicApi(answer) as api:
            made = PageWorld(api)
            urls = {"anthropic": api.url}
            made.runtime = create_runtime(
                spec or names()["spec"],
                environ={},
                base_urls=urls,
                on_event=made.events.append,
                **{"approve": lambda _: True, **given},
            )
            async with made.runtime:
                yield made


def scenario(body: dict[str, Any]) -> Reply:
    """Answer as the page's agents should: plan, have it carried out, set a price."""
    tools = {tool["name"] for tool in body.get("tools", ())}
    result = last_result(body)
    if "scenario_planner" in tools:
        if result is None:
            return Reply(tool_calls=(("scenario_planner", {"goal": "Q3"}),))
        if "plan_id" in result:
            plan_id = orjson.loads(result)["plan_id"]
            return Reply(tool_calls=(("scenario_executor", {"plan_id": plan_id}),))
        return Reply(f"Done: {result}")
    if "set_price" in tools:
        return Reply(result) if result else Reply(tool_calls=(("set_price", ACTION),))
    return Reply(orjson.dumps(PLAN).decode())


def last_result(body: dict[str, Any]) -> str | None:
    """The text of the tool result at the end of a request, if there is one."""
    block = body["messages"][-1]["content"][0]
    if block["type"] != "tool_result":
        return None
    content = block["content"]
    return content if isinstance(content, str) else str(content[0]["text"])
