"""What is refused by its name."""

from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fakes.node_links import lone_node
from fakes.tool_call import plain

from orchestrator.control.operations import DaemonOperations
from orchestrator.extensions.http_api.api_channel import ApiChannel
from orchestrator.extensions.http_api.endpoints import Endpoints
from orchestrator.extensions.http_api.parsed_request import parse_chat, parse_responses
from orchestrator.extensions.http_api.token import TokenFile
from orchestrator.web.error_response import ApiProblem

HELLO: Any = [{"role": "user", "content": "hello"}]


async def test_endpoint_without_an_agent_behind_it_is_refused_by_its_name(tmp_path: Path) -> None:
    """With what to use instead; the token comes first."""
    token = TokenFile(tmp_path / "api-token")
    right = {"authorization": f"Bearer {token.make_token()}"}
    daemon = cast("DaemonOperations", None)
    app = Endpoints(daemon, cast("ApiChannel", None), plain, lone_node())
    transport = httpx.ASGITransport(app=app.build_application(token))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert (await client.post("/v1/completions")).status_code == 401
        for method, path, said in (
            ("POST", "/v1/completions", "use POST /v1/chat/completions or /v1/responses"),
            ("POST", "/v1/files", "send a file in base64"),
            ("GET", "/v1/files/file-1/content", "send a file in base64"),
            ("POST", "/v1/audio/transcriptions", "audio of clients is not supported"),
            ("POST", "/v1/audio/speech", "audio of clients is not supported"),
            ("POST", "/v1/images/generations", "pictures are not made for clients"),
            ("POST", "/v1/moderations", "moderations are not supported"),
            ("POST", "/v1/responses/resp_1/cancel", "background responses are not supported"),
            ("POST", "/v1/responses/compact", "conversations are not compacted"),
            ("POST", "/v1/responses/input_tokens", "tokens are not counted in advance"),
        ):
            refused = await client.request(method, path, headers=right)
            error = refused.json()["error"]
            assert (refused.status_code, error["code"]) == (404, "unsupported"), path
            assert error["type"] == "invalid_request_error"
            assert said in error["message"]
        for name, said in (("count_tokens", "not counted"), ("batches", "not supported")):
            refused = await client.post(f"/v1/messages/{name}", headers=right)
            error = refused.json()["error"]
            assert (refused.status_code, error["type"]) == (404, "not_found_error")
            assert said in error["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"functions": [{"name": "a"}]}, "functions"),
        ({"function_call": "auto"}, "function_call"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"audio": {"voice": "alloy", "format": "wav"}}, "audio"),
        ({"web_search_options": {"user_location": None}}, "web_search_options"),
        ({"logit_bias": {"50256": -100}}, "logit_bias"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"tools": [{"type": "custom", "custom": {"name": "a"}}]}, "tools[0].type"),
    ],
)
def test_field_that_would_change_a_chat_completion_is_refused(
    fields: dict[str, Any], param: str
) -> None:
    """By its name; what says nothing is not."""
    with pytest.raises(ApiProblem, match="not supported") as caught:
        parse_chat({"model": "work", "messages": HELLO, **fields})
    assert caught.value.param == param
    nothing: Any = {"functions": [], "audio": None, "modalities": ["text"], "logit_bias": {}}
    assert parse_chat({"model": "work", "messages": HELLO, **nothing}).body.messages


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "prompt is not supported; an agent has its own"),
        ({"max_tool_calls": 3}, "max_tool_calls", "maxSteps of the agent"),
        ({"background": True}, "background", "background"),
    ],
)
def test_field_that_would_change_a_response_is_refused(
    fields: dict[str, Any], param: str, said: str
) -> None:
    """By its name."""
    with pytest.raises(ApiProblem, match=said) as caught:
        parse_responses({"model": "work", "input": "hello", **fields})
    assert caught.value.param == param


def test_tools_that_openai_would_run_are_left_out_of_a_response() -> None:
    """The functions of the client stay."""
    tools: Any = [{"type": "web_search"}, {"type": "function", "name": "add"}, {"type": "mcp"}]
    body = parse_responses({"model": "work", "input": "hello", "tools": tools}).body
    assert [tool.name for tool in body.tools] == ["add"]
    assert parse_responses({"model": "work", "input": "hello", "tools": tools[:1]}).body.tools == ()
