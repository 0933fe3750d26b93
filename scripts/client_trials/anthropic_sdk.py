"""Anthropic's client for Python."""

import anthropic
from pydantic import BaseModel
from trial import (
    AGENT,
    BASE,
    KEY,
    LOSSY,
    OFFERED,
    PDF,
    PICTURE,
    TOKEN,
    catch_error,
    encode_file,
    holds,
    origin,
    report,
    same,
)

client = anthropic.Anthropic(base_url=origin(BASE), api_key=TOKEN)
TOOL = {
    "name": OFFERED["name"],
    "description": OFFERED["description"],
    "input_schema": OFFERED["parameters"],
}


class Person(BaseModel):
    """What is asked for."""

    name: str
    age: int


def build_request(text: str, *blocks: dict, **fields: object) -> dict:
    """Return the fields of a request."""
    messages = [{"role": "user", "content": [*blocks, {"type": "text", "text": text}]}]
    return {"model": AGENT, "max_tokens": 99, "messages": messages, **fields}


def chat() -> None:
    """Ask and be answered; the agents are the models."""
    done = client.messages.create(**build_request("Hello"), system="Be brief.")
    same(done.content[0].text, "I read: Hello")
    same([model.id for model in client.models.list()], [AGENT])
    same(client.models.retrieve(AGENT).id, AGENT)


def stream() -> None:
    """Read an answer piece by piece, with what it used at the end."""
    with client.messages.stream(**build_request("Hello stream")) as events:
        same("".join(events.text_stream), "I read: Hello stream")
        same(events.get_final_message().usage.output_tokens > 0, wanted=True)


def tools() -> None:
    """Run a tool and send its result; and let the client run it by itself."""
    request = build_request("weather?", tools=[TOOL])
    first = client.messages.create(**request)
    (call,) = [block for block in first.content if block.type == "tool_use"]
    same((call.input, first.stop_reason), ({"city": "Oslo"}, "tool_use"))
    result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
    request["messages"] += [
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    same(client.messages.create(**request).content[0].text, "It is rain.")

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """Tell the weather in a city."""
        return f"sun in {city}"

    runner = client.beta.messages.tool_runner(**build_request("weather?", tools=[get_weather]))
    same(runner.until_done().content[0].text, "It is sun in Oslo.")


def form() -> None:
    """Get an answer of a model of pydantic's."""
    done = client.messages.parse(**build_request("Who is Ada?"), output_format=Person)
    same(done.parsed_output, Person(name="Ada", age=36))


def picture() -> None:
    """Show a picture."""
    source = {"type": "base64", "media_type": "image/png", "data": encode_file(PICTURE)}
    done = client.messages.create(**build_request("What?", {"type": "image", "source": source}))
    holds(done.content[0].text, "image/png;base64: a PNG")


def pdf() -> None:
    """Send a PDF."""
    source = {"type": "base64", "media_type": "application/pdf", "data": encode_file(PDF)}
    done = client.messages.create(**build_request("What?", {"type": "document", "source": source}))
    holds(done.content[0].text, "Tea costs 3 euros")


def errors() -> None:
    """Raise what the client has for a wrong key, an unknown agent and too long a request."""
    wrong = client.with_options(api_key="orc_wrong")
    ask = client.messages.create
    refused = catch_error(anthropic.AuthenticationError, wrong.models.list)
    same(refused.type, "authentication_error")
    unknown = catch_error(
        anthropic.NotFoundError, lambda: ask(**{**build_request("x"), "model": "none"})
    )
    same(unknown.type, "not_found_error")
    long = catch_error(anthropic.BadRequestError, lambda: ask(**build_request("overlong")))
    same((long.type, long.request_id is None), ("invalid_request_error", False))
    holds(long.message, "prompt is too long")
    events = catch_error(
        anthropic.APIStatusError, lambda: list(ask(**build_request("overlong"), stream=True))
    )
    same(events.type, "invalid_request_error")


def repeat() -> None:
    """Repeat by itself a request whose answer was lost; it was made once."""
    done = client.with_options(base_url=origin(LOSSY)).messages.create(
        **build_request("count anthropic"), extra_headers={KEY: "anthropic-python"}
    )
    same(done.content[0].text, "asked 1 times")


report(
    "anthropic",
    {
        "chat": chat,
        "stream": stream,
        "tools": tools,
        "form": form,
        "picture": picture,
        "pdf": pdf,
        "errors": errors,
        "repeat": repeat,
    },
    "anthropic (Python)",
)
