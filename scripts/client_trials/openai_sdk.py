"""OpenAI's client for Python."""

import json

import openai
from pydantic import BaseModel
from trial import (
    AGENT,
    BASE,
    FORM,
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
    report,
    same,
)

client = openai.OpenAI(base_url=BASE, api_key=TOKEN)
TOOL = {"type": "function", "function": OFFERED}


class Person(BaseModel):
    """What is asked for."""

    name: str
    age: int


def say(text: str, *parts: dict) -> list[dict]:
    """Return a message with parts."""
    return [{"role": "user", "content": [{"type": "text", "text": text}, *parts]}]


def chat() -> None:
    """Ask and be answered; the agents are the models."""
    done = client.chat.completions.create(model=AGENT, messages=say("Hello"))
    same(done.choices[0].message.content, "I read: Hello")
    same([model.id for model in client.models.list()], [AGENT])
    same(client.models.retrieve(AGENT).id, AGENT)


def stream() -> None:
    """Read an answer piece by piece, with what it used at the end."""
    chunks = list(
        client.chat.completions.create(
            model=AGENT,
            messages=say("Hello stream"),
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    same(text, "I read: Hello stream")
    same(chunks[-1].usage.total_tokens > 0, wanted=True)


def tools() -> None:
    """Run a tool and send its result, whole and as a stream."""
    messages = say("weather?")
    first = client.chat.completions.create(model=AGENT, messages=messages, tools=[TOOL])
    (call,) = first.choices[0].message.tool_calls
    same(json.loads(call.function.arguments), {"city": "Oslo"})
    with client.chat.completions.stream(model=AGENT, messages=messages, tools=[TOOL]) as events:
        streamed = events.get_final_completion().choices[0].message.tool_calls[0]
    same(streamed.function.name, "get_weather")
    result = {"role": "tool", "tool_call_id": call.id, "content": "rain"}
    messages += [first.choices[0].message, result]
    done = client.chat.completions.create(model=AGENT, messages=messages, tools=[TOOL])
    same(done.choices[0].message.content, "It is rain.")


def form() -> None:
    """Get an answer of a model of pydantic's."""
    done = client.chat.completions.parse(
        model=AGENT, messages=say("Who is Ada?"), response_format=Person
    )
    same(done.choices[0].message.parsed, Person(name="Ada", age=36))


def picture() -> None:
    """Show a picture."""
    url = f"data:image/png;base64,{encode_file(PICTURE)}"
    part = {"type": "image_url", "image_url": {"url": url}}
    done = client.chat.completions.create(model=AGENT, messages=say("What?", part))
    holds(done.choices[0].message.content, "image/png;base64: a PNG")


def pdf() -> None:
    """Send a PDF."""
    url = f"data:application/pdf;base64,{encode_file(PDF)}"
    part = {"type": "file", "file": {"filename": PDF.name, "file_data": url}}
    done = client.chat.completions.create(model=AGENT, messages=say("What?", part))
    holds(done.choices[0].message.content, "Tea costs 3 euros")


def responses() -> None:
    """Go on from a response, call a tool in one, stream one, get a form, read and delete one."""
    create = client.responses.create
    first = create(model=AGENT, input="Hello response")
    same(first.output_text, "I read: Hello response")
    same(create(model=AGENT, input="On", previous_response_id=first.id).output_text, "I read: On")
    called = create(model=AGENT, input="weather?", tools=[{"type": "function", **OFFERED}])
    (call,) = [item for item in called.output if item.type == "function_call"]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}
    done = create(model=AGENT, input=[result], previous_response_id=called.id)
    same(done.output_text, "It is sun.")
    with client.responses.stream(model=AGENT, input="Hello flow") as events:
        final = events.get_final_response()
    same((final.output_text, final.usage.total_tokens > 0), ("I read: Hello flow", True))
    parsed = client.responses.parse(model=AGENT, input="Who is Ada?", text_format=Person)
    same(parsed.output_parsed, Person(name="Ada", age=36))
    same(client.responses.retrieve(first.id).output_text, first.output_text)
    client.responses.delete(first.id)
    catch_error(openai.NotFoundError, lambda: client.responses.retrieve(first.id))


def conversations() -> None:
    """Make a conversation, ask in it, read what was said, and delete it."""
    made = client.conversations.create(metadata={"topic": "tea"})
    for text in ("Hello there", "And on"):
        done = client.responses.create(model=AGENT, input=text, conversation=made.id)
        same(done.output_text, f"I read: {text}")
    listed = client.conversations.items.list(made.id, order="asc")
    said = [item.content[0].text for item in listed if item.type == "message"]
    same(said, ["Hello there", "I read: Hello there", "And on", "I read: And on"])
    same(client.conversations.retrieve(made.id).metadata, {"topic": "tea"})
    client.conversations.delete(made.id)
    catch_error(openai.NotFoundError, lambda: client.conversations.retrieve(made.id))


def embeddings() -> None:
    """Get vectors, by base64 as the client does by itself and as numbers."""
    for fields in ({}, {"encoding_format": "float"}):
        found = client.embeddings.create(model=AGENT, input=TEXTS, **fields)
        same([item.embedding for item in found.data], VECTORS)


def errors() -> None:
    """Raise what the client has for a wrong key, an unknown agent and too long a request."""
    wrong = client.with_options(api_key="orc_wrong")
    ask = client.chat.completions.create
    same(catch_error(openai.AuthenticationError, wrong.models.list).code, "invalid_api_key")
    unknown = catch_error(openai.NotFoundError, lambda: ask(model="none", messages=say("x")))
    same(unknown.code, "model_not_found")
    long = catch_error(openai.BadRequestError, lambda: ask(model=AGENT, messages=say("overlong")))
    same(long.code, "context_length_exceeded")
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": FORM}}
    more = {"response_format": wanted, "n": 2}
    catch_error(openai.BadRequestError, lambda: ask(model=AGENT, messages=say("x"), **more))


def repeat() -> None:
    """Repeat by itself a request whose answer was lost; it was made once."""
    done = client.with_options(base_url=LOSSY).chat.completions.create(
        model=AGENT, messages=say("count openai"), extra_headers={KEY: "openai-python"}
    )
    same(done.choices[0].message.content, "asked 1 times")


report(
    "openai",
    {
        "chat": chat,
        "stream": stream,
        "tools": tools,
        "form": form,
        "picture": picture,
        "pdf": pdf,
        "responses": responses,
        "conversations": conversations,
        "embeddings": embeddings,
        "errors": errors,
        "repeat": repeat,
    },
    "openai (Python)",
)
