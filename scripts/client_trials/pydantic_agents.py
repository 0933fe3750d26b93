"""Agents of pydantic-ai, with its models for OpenAI's and Anthropic's APIs."""

from collections.abc import Callable

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelHTTPError, NativeOutput
from pydantic_ai.embeddings import Embedder
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
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
    holds,
    origin,
    report,
    same,
)


class Person(BaseModel):
    """A person."""

    name: str
    age: int


def chats(name: str = AGENT, base: str = BASE, key: str = TOKEN) -> Model:
    """Return a model that asks for chat completions."""
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=base, api_key=key))


def messages(name: str = AGENT, base: str = BASE, key: str = TOKEN) -> Model:
    """Return a model that speaks Anthropic's API."""
    provider = AnthropicProvider(base_url=origin(base), api_key=key)
    return AnthropicModel(name, provider=provider)


def answers(model: Callable[..., Model]) -> dict[str, Callable[[], None]]:
    """Return what a model is asked."""

    def chat() -> None:
        """Ask and be answered."""
        same(Agent(model()).run_sync("Hello").output, "I read: Hello")

    def stream() -> None:
        """Read an answer piece by piece, with what it used."""
        done = Agent(model()).run_stream_sync("Hello stream")
        same("".join(done.stream_text(delta=True)), "I read: Hello stream")
        same(done.usage.output_tokens > 0, wanted=True)

    def tools() -> None:
        """Let the agent run a tool."""
        agent = Agent(model())

        @agent.tool_plain
        def get_weather(city: str) -> str:
            """Tell the weather in a city."""
            return f"sun in {city}"

        same(agent.run_sync("weather?").output, "It is sun in Oslo.")

    def form() -> None:
        """Get an object, by a tool as is usual, and by the form of the answer where it may."""
        native = [NativeOutput(Person)] if model is chats else []
        for wanted in (Person, *native):
            done = Agent(model(), output_type=wanted).run_sync("Who is Ada?")
            same(done.output, Person(name="Ada", age=36))

    def picture() -> None:
        """Show a picture."""
        content = BinaryContent(PICTURE.read_bytes(), media_type="image/png")
        holds(Agent(model()).run_sync(["What?", content]).output, "image/png;base64: a PNG")

    def pdf() -> None:
        """Send a PDF."""
        content = BinaryContent(PDF.read_bytes(), media_type="application/pdf")
        holds(Agent(model()).run_sync(["What?", content]).output, "3 euros")

    return {
        "chat": chat,
        "stream": stream,
        "tools": tools,
        "form": form,
        "picture": picture,
        "pdf": pdf,
    }


def failures(model: Callable[..., Model], key: str) -> dict[str, Callable[[], None]]:
    """Return what goes wrong with a model; requests that are to be repeated have this key."""

    def errors() -> None:
        """Raise its exception, with the status."""
        for made, text, status in (
            (model(key="orc_wrong"), "x", 401),
            (model("none"), "x", 404),
            (model(), "overlong", 400),
        ):
            found = catch_error(ModelHTTPError, lambda asked=made, t=text: Agent(asked).run_sync(t))
            same(found.status_code, status)

    def repeat() -> None:
        """Repeat by itself a request whose answer was lost; it was made once."""
        settings = {"extra_headers": {KEY: key}}
        done = Agent(model(base=LOSSY)).run_sync(f"count {key}", model_settings=settings)
        same(done.output, "asked 1 times")

    return {"errors": errors, "repeat": repeat}


def responses() -> None:
    """Speak the Responses API, and go on from a response."""
    provider = OpenAIProvider(base_url=BASE, api_key=TOKEN)
    agent = Agent(OpenAIResponsesModel(AGENT, provider=provider))
    first = agent.run_sync("Hello response")
    same(first.output, "I read: Hello response")
    settings = {"openai_previous_response_id": first.response.provider_response_id}
    same(agent.run_sync("On", model_settings=settings).output, "I read: On")

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Tell the weather in a city."""
        return f"sun in {city}"

    same(agent.run_sync("weather?").output, "It is sun in Oslo.")
    done = agent.run_stream_sync("Hello flow")
    same("".join(done.stream_text(delta=True)), "I read: Hello flow")


def embeddings() -> None:
    """Get vectors of texts."""
    provider = OpenAIProvider(base_url=BASE, api_key=TOKEN)
    embedder = Embedder(OpenAIEmbeddingModel(AGENT, provider=provider))
    same([list(vector) for vector in embedder.embed_documents_sync(TEXTS).embeddings], VECTORS)


NAME = "pydantic-ai-slim"
with_openai = {**answers(chats), **failures(chats, "pydantic-openai"), "responses": responses}
with_openai["embeddings"] = embeddings
report(NAME, with_openai, "pydantic-ai, OpenAI's API")
with_anthropic = {**answers(messages), **failures(messages, "pydantic-anthropic")}
report(NAME, with_anthropic, "pydantic-ai, Anthropic's API")
