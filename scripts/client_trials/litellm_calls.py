"""LiteLLM, which sends each of its calls to the API that the model's prefix names."""

import json
import os
from collections.abc import Callable

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it waits for a page of the internet
import litellm
from pydantic import BaseModel
from trial import (
    AGENT,
    BASE,
    KEY,
    LOSSY,
    OFFERED,
    PDF,
    PICTURE,
    TEXTS,
    TOKEN,
    VECTORS,
    catch_error,
    encode_file,
    holds,
    origin,
    report,
    same,
)

TOOL = {"type": "function", "function": OFFERED}
OPENAI = {"model": f"openai/{AGENT}", "api_base": BASE, "api_key": TOKEN}
ANTHROPIC = {"model": f"anthropic/{AGENT}", "api_base": origin(BASE), "api_key": TOKEN}


litellm.suppress_debug_info = True


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def say(text: str, *parts: dict) -> list[dict]:
    """Return a message with parts."""
    return [{"role": "user", "content": [{"type": "text", "text": text}, *parts]}]


def checks(place: dict, lossy: str, key: str) -> dict[str, Callable[[], None]]:
    """Return what is tried with a place; requests that are to be repeated have this key."""

    def answer(text: str, *parts: dict, **fields: object) -> str:
        """Return the text of a whole answer."""
        done = litellm.completion(**{**place, "messages": say(text, *parts), **fields})
        return done.choices[0].message.content

    def chat() -> None:
        """Ask and be answered."""
        same(answer("Hello"), "I read: Hello")

    def stream() -> None:
        """Read an answer piece by piece, with what it used at the end."""
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(litellm.completion(**place, messages=say("Hello stream"), **options))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        same(text, "I read: Hello stream")
        same(any(getattr(chunk, "usage", None) for chunk in chunks), wanted=True)

    def tools() -> None:
        """Run a tool and send its result."""
        messages = say("weather?")
        first = litellm.completion(**place, messages=messages, tools=[TOOL])
        (call,) = first.choices[0].message.tool_calls
        same(json.loads(call.function.arguments), {"city": "Oslo"})
        result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
        messages += [first.choices[0].message, result]
        done = litellm.completion(**place, messages=messages, tools=[TOOL])
        same(done.choices[0].message.content, "It is rain.")

    def form() -> None:
        """Get an answer of a form."""
        found = answer("Who is Ada?", response_format=Person)
        same(Person.model_validate_json(found), Person(name="Ada", age=36))

    def picture() -> None:
        """Show a picture."""
        url = f"data:image/png;base64,{encode_file(PICTURE)}"
        part = {"type": "image_url", "image_url": {"url": url}}
        holds(answer("What?", part), "image/png;base64: a PNG")

    def pdf() -> None:
        """Send a PDF."""
        url = f"data:application/pdf;base64,{encode_file(PDF)}"
        part = {"type": "file", "file": {"filename": PDF.name, "file_data": url}}
        holds(answer("What?", part), "3 euros")

    def errors() -> None:
        """Raise its own exceptions."""
        catch_error(litellm.AuthenticationError, lambda: answer("x", api_key="orc_wrong"))
        unknown = place["model"].replace(AGENT, "none")
        catch_error(litellm.NotFoundError, lambda: answer("x", model=unknown))
        catch_error(litellm.ContextWindowExceededError, lambda: answer("overlong"))

    def repeat() -> None:
        """Repeat by itself a request whose answer was lost; it was made once."""
        fields = {"api_base": lossy, "num_retries": 2, "extra_headers": {KEY: key}}
        same(answer(f"count {key}", **fields), "asked 1 times")

    return {
        "chat": chat,
        "stream": stream,
        "tools": tools,
        "form": form,
        "picture": picture,
        "pdf": pdf,
        "errors": errors,
        "repeat": repeat,
    }


def responses() -> None:
    """Speak the Responses API, and go on from a response."""
    first = litellm.responses(**OPENAI, input="Hello response")
    same(first.output_text, "I read: Hello response")
    more = litellm.responses(**OPENAI, input="On", previous_response_id=first.id)
    same(more.output_text, "I read: On")
    events = list(litellm.responses(**OPENAI, input="Hello flow", stream=True))
    same(events[-1].response.output_text, "I read: Hello flow")


def embeddings() -> None:
    """Get vectors of texts."""
    found = litellm.embedding(**OPENAI, input=TEXTS, encoding_format="float")
    same([item["embedding"] for item in found.data], VECTORS)


with_openai = {**checks(OPENAI, LOSSY, "litellm-openai"), "responses": responses}
with_openai["embeddings"] = embeddings
report("litellm", with_openai, "litellm, OpenAI's API")
report(
    "litellm",
    checks(ANTHROPIC, origin(LOSSY), "litellm-anthropic"),
    "litellm, Anthropic's API",
)
