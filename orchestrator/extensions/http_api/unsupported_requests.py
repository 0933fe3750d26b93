"""Features of both APIs that no agent has, each refused by name."""

from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from typing import NoReturn

from starlette.requests import Request
from starlette.routing import Route

from orchestrator.web.error_response import ApiProblem, make_invalid_problem
from thinker.protocol.messages import JsonObject

CODE = "unsupported"
CHAT = "use POST /v1/chat/completions or /v1/responses"
# Endpoints by the beginning of their paths.
ENDPOINTS: Mapping[str, str] = {
    "completions": f"completions of plain prompts are not supported; {CHAT}",
    "files": "files are not stored for clients; send a file in base64 as a part of the message",
    "uploads": "files are not stored for clients; send a file in base64 as a part of the message",
    "audio": f"audio of clients is not supported; {CHAT} with text",
    "images": f"pictures are not made for clients; {CHAT} and let the agent use its tools",
    "videos": f"videos are not supported; {CHAT}",
    "realtime": f"realtime sessions are not supported; {CHAT}",
    "moderations": "moderations are not supported",
    "batches": f"batches are not supported; {CHAT} with an Idempotency-Key for each request",
    "fine_tuning": "models are not trained here; an agent's prompt and memory are its own",
    "vector_stores": "vector stores are not supported; agents have memories, and /v1/embeddings",
    "assistants": f"assistants are not supported: each agent is a model; {CHAT}",
    "threads": "threads are not supported; use /v1/conversations",
    "evals": "evals are not supported",
    "containers": "containers are not supported; an agent may have a workspace of its own",
}
UNCOUNTED = "tokens are not counted in advance; usage has them afterwards"
# Functions of endpoints that are supported otherwise.
FUNCTIONS: Mapping[str, str] = {
    "/v1/responses/compact": "conversations are not compacted for clients; send what matters",
    "/v1/responses/input_tokens": UNCOUNTED,
    "/v1/messages/count_tokens": UNCOUNTED,
    "/v1/messages/batches": "batches are not supported; use POST /v1/messages for each message",
    "/v1/responses/{name}/cancel": "background responses are not supported; close the connection",
}
# Fields that would change what an answer is.
CHAT_FIELDS: Mapping[str, str] = {
    "functions": "send tools",
    "function_call": "send tool_choice",
    "audio": "an agent answers in text",
    "web_search_options": "an agent has its own tools for the web",
    "logit_bias": "an agent chooses its words",
    "top_logprobs": "an agent gives no probabilities",
}
RESPONSES_FIELDS: Mapping[str, str] = {
    "prompt": "an agent has its own prompt; send instructions",
    "max_tool_calls": "maxSteps of the agent limits its calls",
    "top_logprobs": "an agent gives no probabilities",
}
METHODS = ["GET", "POST", "DELETE", "PUT", "PATCH"]


def build_unsupported_routes() -> Iterator[Route]:
    """Yield routes that refuse whole endpoints."""
    for name in ENDPOINTS:
        yield Route(f"/v1/{name}", _refuse_endpoint, methods=METHODS)
        yield Route(f"/v1/{name}/{{rest:path}}", _refuse_endpoint, methods=METHODS)
    for path, why in FUNCTIONS.items():
        yield Route(path, partial(_refuse_function, why), methods=METHODS)


async def _refuse_endpoint(request: Request) -> NoReturn:
    name = request.url.path.split("/")[2]
    raise ApiProblem(HTTPStatus.NOT_FOUND, ENDPOINTS[name], code=CODE)


async def _refuse_function(why: str, _: Request) -> NoReturn:
    raise ApiProblem(HTTPStatus.NOT_FOUND, why, code=CODE)


def refuse_tools(body: JsonObject) -> None:
    """Refuse a request with a tool other than the client's functions.

    Raises:
        ApiProblem: the request has one; ``param`` names its place.
    """
    tools = body.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        if isinstance(tool, dict) and not _is_function(tool):
            kind = tool["type"]
            message = f"the tool {kind!r} is not supported; an agent has its own, or send functions"
            raise make_invalid_problem(f"tools[{index}].type", message)


def leave_out_hosted_tools(body: JsonObject) -> JsonObject:
    """Return a request without tools that OpenAI would run, such as ``web_search``.

    The agent has its own; clients send such tools with every request.
    """
    tools = body.get("tools")
    if not isinstance(tools, list):
        return body
    kept = [one for one in tools if not isinstance(one, dict) or _is_function(one)]
    return body if len(kept) == len(tools) else {**body, "tools": kept}


def _is_function(tool: JsonObject) -> bool:
    kind = tool.get("type")
    return not isinstance(kind, str) or kind.strip().lower() in ("", "function")


def refuse_fields(body: JsonObject, fields: Mapping[str, str]) -> None:
    """Refuse a request that sets one of these fields.

    Raises:
        ApiProblem: the request sets one; ``param`` names the field.
    """
    for name, why in fields.items():
        if body.get(name) not in (None, False, [], {}, 0):
            raise make_invalid_problem(name, f"{name} is not supported; {why}")
