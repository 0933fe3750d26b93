"""What Open WebUI's backend asks, by the HTTP client that it has, from a network of its own.

Its header for each person, its options of a chat and its questions for titles are those that it
sends; a browser asks before its page may ("direct connections").
"""

import asyncio
import json
from collections.abc import Callable, Coroutine

import aiohttp
from trial import (
    AGENT,
    BASE,
    OFFERED,
    PDF,
    PICTURE,
    TEXTS,
    TOKEN,
    VECTORS,
    encode_file,
    holds,
    report,
    same,
)

SITE = "https://chat.example"
HEADERS = {
    "Content-Type": "application/json",
    "Authorization": f"Bearer {TOKEN}",
    "X-OpenWebUI-User-Name": "Ada",
    "X-OpenWebUI-User-Id": "6f0c1a52-52a5-4b6c-9d4b-4e9a2b2f4b51",
    "X-OpenWebUI-User-Email": "ada@chat.example",
    "X-OpenWebUI-User-Role": "user",
    "X-OpenWebUI-Chat-Id": "8ac7230e-2f4b-4a38-a9c8-9a5cf7f5a6c1",
}


async def send_request(method: str, path: str, body: dict | None = None, **fields: dict) -> tuple:
    """Return status, headers and text of an answer."""
    fields.setdefault("headers", HEADERS)
    async with (
        aiohttp.ClientSession(trust_env=True) as session,
        session.request(method, f"{BASE}/{path}", json=body, **fields) as response,
    ):
        return response.status, response.headers, await response.text()


def say(text: str, *parts: dict, **fields: object) -> dict:
    """Return the body of a chat as it is sent."""
    content = [{"type": "text", "text": text}, *parts] if parts else text
    message = {"role": "user", "content": content}
    return {"model": AGENT, "messages": [message], **fields}


async def fetch_message(body: dict) -> dict:
    """Return the message of a whole answer."""
    status, _, text = await send_request("POST", "chat/completions", body)
    same(status, 200)
    return json.loads(text)["choices"][0]["message"]


async def fetch_chunks(body: dict) -> list[dict]:
    """Return the chunks of a stream, which must end as one does."""
    status, headers, text = await send_request("POST", "chat/completions", {**body, "stream": True})
    same((status, "text/event-stream" in headers["content-type"]), (200, True))
    *events, done = text.strip().split("\n\n")
    same(done, "data: [DONE]")
    return [json.loads(event.removeprefix("data: ")) for event in events]


async def chat() -> None:
    """Find the models, and ask for a chat's title."""
    status, _, text = await send_request("GET", "models")
    same((status, [model["id"] for model in json.loads(text)["data"]]), (200, [AGENT]))
    title = say("A title for: Hello", stream=False, max_completion_tokens=1000)
    same((await fetch_message(title))["content"], "I read: A title for: Hello")


async def stream() -> None:
    """Read an answer piece by piece, with what it used at the end."""
    options = {"stream_options": {"include_usage": True}, "temperature": 0.7, "top_p": 0.9}
    chunks = await fetch_chunks(say("Hello stream", **options))
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
    same("".join(delta.get("content", "") for delta in deltas), "I read: Hello stream")
    same(chunks[-1]["usage"]["total_tokens"] > 0, wanted=True)


async def tools() -> None:
    """Run a tool that it found elsewhere, and send its result."""
    body = say("weather?", tools=[{"type": "function", "function": OFFERED}])
    chunks = await fetch_chunks(body)
    (call,) = [call for chunk in chunks for call in calls(chunk)]
    same(call["function"]["name"], "get_weather")
    call.pop("index")
    body["messages"] += [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": "rain"},
    ]
    same((await fetch_message(body))["content"], "It is rain.")


def calls(chunk: dict) -> list[dict]:
    """Return the calls in a chunk."""
    return [call for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]


async def picture() -> None:
    """Show a picture."""
    url = f"data:image/png;base64,{encode_file(PICTURE)}"
    part = {"type": "image_url", "image_url": {"url": url}}
    holds((await fetch_message(say("What?", part)))["content"], "image/png;base64: a PNG")


async def pdf() -> None:
    """Send a PDF."""
    url = f"data:application/pdf;base64,{encode_file(PDF)}"
    part = {"type": "file", "file": {"filename": PDF.name, "file_data": url}}
    holds((await fetch_message(say("What?", part)))["content"], "Tea costs 3 euros")


async def embeddings() -> None:
    """Get vectors for its documents."""
    status, _, text = await send_request("POST", "embeddings", {"input": TEXTS, "model": AGENT})
    same((status, [item["embedding"] for item in json.loads(text)["data"]]), (200, VECTORS))


async def errors() -> None:
    """Show the message of a refusal."""
    wrong = {**HEADERS, "Authorization": "Bearer orc_wrong"}
    status, _, text = await send_request("GET", "models", headers=wrong)
    same((status, "message" in json.loads(text)["error"]), (401, True))
    for body, expected in ((say("x", model="none"), 404), (say("overlong"), 400)):
        status, _, text = await send_request("POST", "chat/completions", body)
        same((status, "message" in json.loads(text)["error"]), (expected, True))


async def browser() -> None:
    """Let the page ask by itself: the browser asks first whether it may."""
    first = {
        "Origin": SITE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    status, headers, _ = await send_request("OPTIONS", "chat/completions", headers=first)
    same((status, headers["access-control-allow-origin"]), (200, SITE))
    holds(headers["access-control-allow-headers"].lower(), "authorization")
    own = {**HEADERS, "Origin": SITE}
    status, headers, _ = await send_request("POST", "chat/completions", say("Hello"), headers=own)
    same((status, headers["access-control-allow-origin"]), (200, SITE))
    evil = {**HEADERS, "Origin": "https://evil.example"}
    status, _, _ = await send_request("GET", "models", headers=evil)
    same(status, 403)


def run(check: Callable[[], Coroutine]) -> Callable[[], None]:
    """Return a check that runs to its end."""
    return lambda: asyncio.run(check())


tried = (chat, stream, tools, picture, pdf, embeddings, errors, browser)
checks = {check.__name__: run(check) for check in tried}
report("aiohttp", checks, "Open WebUI's calls (aiohttp)")
