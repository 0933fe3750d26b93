"""LangChain's models for OpenAI's and Anthropic's APIs."""

from collections.abc import Callable

import anthropic
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel
from trial import (
    AGENT,
    BASE,
    KEY,
    LOSSY,
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

by_openai = {"model": AGENT, "base_url": BASE, "api_key": TOKEN, "stream_usage": True}
by_anthropic = {"model": AGENT, "base_url": origin(BASE), "api_key": TOKEN, "max_tokens": 99}


class Person(BaseModel):
    """A person."""

    name: str
    age: int


@tool
def get_weather(city: str) -> str:
    """Tell the weather in a city."""
    return f"sun in {city}"


def say(text: str, *blocks: dict) -> list[HumanMessage]:
    """Return a message with blocks of LangChain's own."""
    return [HumanMessage([{"type": "text", "text": text}, *blocks])]


def checks(model: BaseChatModel) -> dict[str, Callable[[], None]]:
    """Return what is the same for every model."""

    def chat() -> None:
        """Ask and be answered."""
        same(model.invoke("Hello").text, "I read: Hello")

    def stream() -> None:
        """Read an answer piece by piece, with what it used."""
        whole = None
        for chunk in model.stream("Hello stream"):
            whole = chunk if whole is None else whole + chunk
        same(whole.text, "I read: Hello stream")
        same(whole.usage_metadata["total_tokens"] > 0, wanted=True)

    def tools() -> None:
        """Run a tool and send its result."""
        able = model.bind_tools([get_weather])
        messages = say("weather?")
        called = able.invoke(messages)
        messages.append(called)
        messages += [get_weather.invoke(call) for call in called.tool_calls]
        same([type(message) for message in messages[2:]], [ToolMessage])
        same(able.invoke(messages).text, "It is sun in Oslo.")

    def form() -> None:
        """Get an object, by the form of the answer and by a tool."""
        wanted = Person(name="Ada", age=36)
        for method in ("json_schema", "function_calling"):
            asking = model.with_structured_output(Person, method=method)
            same(asking.invoke("Who is Ada?"), wanted)

    def picture() -> None:
        """Show a picture."""
        block = {"type": "image", "base64": encode_file(PICTURE), "mime_type": "image/png"}
        holds(model.invoke(say("What?", block)).text, "image/png;base64: a PNG")

    def pdf() -> None:
        """Send a PDF."""
        block = {"type": "file", "base64": encode_file(PDF), "mime_type": "application/pdf"}
        holds(model.invoke(say("What?", {**block, "filename": PDF.name})).text, "3 euros")

    return {
        "chat": chat,
        "stream": stream,
        "tools": tools,
        "form": form,
        "picture": picture,
        "pdf": pdf,
    }


def responses() -> None:
    """Speak the Responses API, and go on from a response."""
    model = ChatOpenAI(**by_openai, use_responses_api=True, use_previous_response_id=True)
    first = model.invoke("Hello response")
    same(first.text, "I read: Hello response")
    more = [HumanMessage("Hello response"), first, HumanMessage("On")]
    same(model.invoke(more).text, "I read: On")
    same("".join(chunk.text for chunk in model.stream("Hello flow")), "I read: Hello flow")
    called = model.bind_tools([get_weather]).invoke("weather?")
    same([call["args"] for call in called.tool_calls], [{"city": "Oslo"}])


def embeddings() -> None:
    """Get vectors of texts, which are not counted in tokens of OpenAI's models first."""
    fields = {"model": AGENT, "base_url": BASE, "api_key": TOKEN}
    model = OpenAIEmbeddings(**fields, check_embedding_ctx_length=False)
    same(model.embed_documents(TEXTS), VECTORS)
    same(model.embed_query(TEXTS[0]), VECTORS[0])


def errors_of_openai() -> None:
    """Raise OpenAI's exceptions, and LangChain's own for too long a request."""
    wrong = ChatOpenAI(**{**by_openai, "api_key": "orc_wrong"})
    catch_error(openai.AuthenticationError, lambda: wrong.invoke("x"))
    unknown = ChatOpenAI(**{**by_openai, "model": "none"})
    catch_error(openai.NotFoundError, lambda: unknown.invoke("x"))
    model = ChatOpenAI(**by_openai)
    catch_error(ContextOverflowError, lambda: model.invoke("overlong"))
    catch_error(ContextOverflowError, lambda: list(model.stream("overlong")))


def errors_of_anthropic() -> None:
    """Raise Anthropic's exceptions, and LangChain's own for too long a request."""
    wrong = ChatAnthropic(**{**by_anthropic, "api_key": "orc_wrong"})
    catch_error(anthropic.AuthenticationError, lambda: wrong.invoke("x"))
    unknown = ChatAnthropic(**{**by_anthropic, "model": "none"})
    catch_error(anthropic.NotFoundError, lambda: unknown.invoke("x"))
    model = ChatAnthropic(**by_anthropic)
    catch_error(ContextOverflowError, lambda: model.invoke("overlong"))


def repeat_openai() -> None:
    """Repeat by itself a request whose answer was lost; it was made once."""
    model = ChatOpenAI(**{**by_openai, "base_url": LOSSY})
    done = model.invoke("count langchain", extra_headers={KEY: "langchain-openai"})
    same(done.text, "asked 1 times")


def repeat_anthropic() -> None:
    """Repeat by itself a request whose answer was lost; it was made once."""
    headers = {KEY: "langchain-anthropic"}
    model = ChatAnthropic(**{**by_anthropic, "base_url": origin(LOSSY)}, default_headers=headers)
    same(model.invoke("count langchain anthropic").text, "asked 1 times")


report(
    "langchain-openai",
    {
        **checks(ChatOpenAI(**by_openai)),
        "responses": responses,
        "embeddings": embeddings,
        "errors": errors_of_openai,
        "repeat": repeat_openai,
    },
)
report(
    "langchain-anthropic",
    {
        **checks(ChatAnthropic(**by_anthropic)),
        "errors": errors_of_anthropic,
        "repeat": repeat_anthropic,
    },
)
