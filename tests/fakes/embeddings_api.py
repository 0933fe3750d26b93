"""A fake of OpenAI's ``/embeddings`` on loopback that knows what a few words mean."""

import re
from collections.abc import Callable
from typing import Any

from fakes.model_api import ModelApi, Reply

# A dimension each: words of one line mean the same.
MEANINGS = (
    "dog rex puppy pet animal",
    "tea cocoa drink thirsty beverage",
    "rain weather umbrella forecast meteorological",
    "money invoice bill pay",
    "add numbers sum altogether",
)


class EmbeddingsApi(ModelApi):
    """``api.url + "/v1"`` is the base address. ``spoil`` changes the answers before they go out."""

    def __init__(self, reply: Callable[[dict[str, Any]], Reply] | None = None) -> None:
        super().__init__(reply)
        self.spoil: Callable[[dict[str, Any]], Any] = dict  # which changes nothing

    def echo(self, body: dict[str, Any]) -> Reply:
        """Answer as it should be."""
        del body
        return Reply()

    def document(self, body: dict[str, Any], reply: Reply) -> dict[str, Any]:
        """A list of embeddings, as OpenAI writes it, the last first."""
        vectors = [vector(text) for text in body["input"]]
        data = [
            {"object": "embedding", "index": index, "embedding": numbers}
            for index, numbers in enumerate(vectors)
        ]
        used = {"prompt_tokens": reply.prompt_tokens, "total_tokens": reply.prompt_tokens}
        answer = {"object": "list", "model": body["model"], "data": data[::-1], "usage": used}
        self.spoil(answer)
        return answer

    def error(self, reply: Reply) -> dict[str, Any]:
        """OpenAI's error object."""
        return {"error": {"message": reply.text, "type": reply.kind}}

    def texts(self) -> list[str]:
        """Every text that was asked about."""
        return [text for request in self.requests for text in request.body["input"]]


def vector(text: str) -> list[float]:
    """How much of each meaning a text has, and a little of none."""
    words = re.findall(r"\w+", text.lower())
    counts = [sum(word in meaning.split() for word in words) for meaning in MEANINGS]
    return [*map(float, counts), 0.1]
