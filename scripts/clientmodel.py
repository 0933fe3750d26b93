"""A model for the trials of clients: what it answers shows what reached it."""

import re
from base64 import b64decode
from collections import Counter

import orjson
from stubmodel import USAGE, call_of, completion, response

WORDS = re.compile(r"\S+\s*")
ADA = {"name": "Ada", "age": 36}


class TrialModel:
    """Answers by the newest text of a user; ``answer`` takes a body, as `stubmodel.listen` has it.

    - It calls the client's tool that the text needs: the weather of a city, or a form with an age.
    - A text about Ada is answered as JSON, "count" with the number of times that it was asked,
      "overlong" as by a model whose context is too small.
    - Pictures are described, other texts are repeated; `vectors` says what embeddings are.
    """

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def answer(self, body: bytes) -> bytes:
        """Return the HTTP response."""
        request = orjson.loads(body or b"{}")
        if "input" in request:
            return vectors(request["input"])
        messages = request["messages"]
        said, pictures = newest(messages)
        if "overlong" in said:
            return TOO_LONG
        streamed = bool(request.get("stream"))
        result = messages[-1]
        if result["role"] == "tool":
            return text(f"It is {result['content']}.", streamed=streamed)
        call = choose_call(request, said)
        if call is not None:
            return completion(call, streamed=streamed)
        return text(self._words(said, pictures), streamed=streamed)

    def _words(self, said: str, pictures: list[str]) -> str:
        if "count" in said:
            self._asked[said] += 1
            return f"asked {self._asked[said]} times"
        if "Ada" in said:
            return orjson.dumps(ADA).decode()
        return "".join(f"[{picture}] " for picture in pictures) + f"I read: {said}"


def newest(messages: list[dict]) -> tuple[str, list[str]]:
    """Return the newest text of a user, and what its pictures are."""
    content = next(m["content"] for m in reversed(messages) if m["role"] == "user")
    if isinstance(content, str):
        return content, []
    texts = [part["text"] for part in content if part["type"] == "text"]
    urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    return "\n".join(texts), [picture(url) for url in urls]


def picture(url: str) -> str:
    """Describe a picture: its type, and whether it begins as a PNG does."""
    head, _, data = url.partition(",")
    kind = "a PNG" if b64decode(data).startswith(b"\x89PNG") else "no PNG"
    return f"{head}: {kind}"


def choose_call(request: dict, said: str) -> dict | None:
    """Return the call of a tool that the text needs, if it is offered."""
    offered = {tool["function"]["name"]: tool["function"] for tool in request.get("tools", ())}
    needed = {"city": "Oslo"} if "weather" in said else ADA if "Ada" in said else None
    for name, tool in offered.items():
        if needed and needed.keys() <= tool["parameters"].get("properties", {}).keys():
            return call_of(name, orjson.dumps(needed).decode(), f"call_{len(request['messages'])}")
    return None


def text(words: str, *, streamed: bool) -> bytes:
    """Return a response of text; as a stream it comes word by word."""
    if not streamed:
        return completion({"role": "assistant", "content": words}, streamed=False)
    deltas: list[dict] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": word} for word in WORDS.findall(words)]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    chunks: list[dict] = [{"id": "x", "model": "stub", "choices": choice} for choice in choices]
    chunks.append({"id": "x", "model": "stub", "choices": [], "usage": USAGE})
    data = b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks)
    return response(data + b"data: [DONE]\n\n", b"text/event-stream")


def vectors(texts: list[str]) -> bytes:
    """Return a vector for each text: that of the axis that the text's length chooses."""
    axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    data = [
        {"object": "embedding", "index": index, "embedding": axes[len(said) % len(axes)]}
        for index, said in enumerate(texts)
    ]
    whole = {"object": "list", "model": "stub", "data": data}
    return response(orjson.dumps({**whole, "usage": {"prompt_tokens": 2, "total_tokens": 2}}))


def build_refusal(status: int, error: dict) -> bytes:
    """Return a response with an error."""
    data = orjson.dumps({"error": error})
    head = b"HTTP/1.1 %d Refused\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(data)) + data


TOO_LONG = build_refusal(
    400,
    {
        "message": "This model's maximum context length is 10 tokens.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    },
)
