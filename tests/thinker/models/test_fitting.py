"""Requests that fit the window of their model, whatever it says about that."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.fitting import FittingModel
from thinker.models.retry import FallbackModel
from thinker.models.shortening import measure_request
from thinker.protocol.context_windows import ContextWindow
from thinker.protocol.messages import AssistantMessage, Usage, UserMessage
from thinker.worker_errors import (
    ContextOverflowError,
    FatalModelError,
    FilteredError,
    ModelError,
    RetryableModelError,
)

BOOK = ModelRequest(system="Be brief.", messages=(UserMessage(content="word " * 8000),))
SHORT = ModelRequest(system="Be brief.", messages=(UserMessage(content="Say yes."),))
HISTORY = ModelRequest(
    system="Be brief.",
    messages=(*BOOK.messages, AssistantMessage(content="No."), *SHORT.messages),
)


@dataclass
class Small:
    """A model that refuses what has more characters than it takes."""

    takes: int
    refuse: Callable[[int], ModelError]
    name: str = "openai/m"
    usage: Callable[[int], Usage] = lambda _: Usage()
    sizes: list[int] = field(default_factory=list)

    async def complete(self, request: ModelRequest) -> ModelResponse:
        """Refuse or answer."""
        size = measure_request(request).total
        self.sizes.append(size)
        if size > self.takes:
            raise self.refuse(size)
        return ModelResponse(AssistantMessage(content="yes"), self.usage(size), model=self.name)

    async def aclose(self) -> None:
        """There is nothing to close."""


def unexplained(_: int) -> ModelError:
    """A refusal in words that nobody knows."""
    error = FatalModelError("openai refused the request (400): 9 pages at most")
    error.unexplained = True
    return error


def counted(size: int) -> ModelError:
    """A refusal with numbers."""
    return ContextOverflowError("openai says: too long", 4000, size // 4)


def plain(_: int) -> ModelError:
    """A refusal without numbers."""
    return ContextOverflowError("openai says that the request is longer: too long")


@pytest.mark.parametrize("refuse", [unexplained, counted, plain])
async def test_a_refused_request_is_repeated_with_less_and_the_next_one_is_right_at_once(
    refuse: Callable[[int], ModelError],
) -> None:
    """In whatever words; what was learnt holds for the next message."""
    inner = Small(16_000, refuse)
    model = FittingModel(inner)
    first = await model.complete(BOOK)
    assert first.message.content == "yes"
    assert [one.kind for one in first.degraded] == ["message"]
    assert len(inner.sizes) <= 3
    before = len(inner.sizes)
    assert (await model.complete(HISTORY)).message.content == "yes"
    assert len(inner.sizes) == before + 1
    assert (await model.complete(SHORT)).degraded == ()


async def test_a_number_in_a_refusal_becomes_the_window() -> None:
    """It is shown to the operator."""
    told: list[ContextWindow] = []
    model = FittingModel(Small(16_000, counted))
    model.report = told.append
    await model.complete(BOOK)
    assert (model.window.tokens, model.window.source) == (4000, "refusal")
    assert told == [model.window]


async def test_a_refusal_that_has_other_reasons_keeps_its_words() -> None:
    """Less did not help, so the length was not the reason."""
    inner = Small(-1, unexplained)
    with pytest.raises(FatalModelError, match="9 pages") as caught:
        await FittingModel(inner).complete(BOOK)
    assert not isinstance(caught.value, ContextOverflowError)
    assert len(inner.sizes) <= 4
    inner.sizes.clear()
    with pytest.raises(FatalModelError):
        await FittingModel(inner).complete(SHORT)
    assert len(inner.sizes) == 1  # a short request is not suspected


async def test_what_does_not_fit_is_named() -> None:
    """With sizes, the window and what to do."""
    model = FittingModel(Small(-1, counted))
    with pytest.raises(ContextOverflowError) as caught:
        await model.complete(BOOK)
    notice = caught.value.format_notice()
    assert "your message about 10," in notice
    assert "4,000 tokens at once" in notice
    assert "smaller parts" in notice


async def test_a_known_window_is_kept_without_a_refusal() -> None:
    """The setting of the operator, or the table."""
    for model in (
        FittingModel(Small(9**9, plain), 4096),
        FittingModel(Small(9**9, plain), 0, 4096),
    ):
        assert isinstance(model.model, Small)
        response = await model.complete(BOOK)
        assert [one.kind for one in response.degraded] == ["message"]
        assert model.model.sizes[0] * 0.25 < 4096


async def test_the_server_of_a_local_model_is_asked_first() -> None:
    """Its answer wins over the table, not over the operator."""
    asked: list[str] = []

    async def ask() -> ContextWindow:
        asked.append("")
        return ContextWindow(model="ollama/m", tokens=4096, source="server", server="Ollama")

    model = FittingModel(Small(9**9, plain), 0, 100_000, local=True, ask=ask)
    assert (await model.complete(BOOK)).degraded
    await model.complete(BOOK)
    assert model.window.text == "4,096 (its server: Ollama)"
    assert asked == [""]  # again in an hour
    stated = FittingModel(Small(9**9, plain), 50_000, local=True, ask=ask)
    assert not (await stated.complete(BOOK)).degraded
    assert asked == [""]


async def test_a_server_that_cannot_be_asked_costs_no_answer() -> None:
    """Whatever it says or does not say."""

    async def ask() -> ContextWindow | None:
        raise OSError("no")

    model = FittingModel(Small(9**9, plain), local=True, ask=ask)
    assert (await model.complete(BOOK)).message.content == "yes"
    assert model.window.source == "assumed"


async def test_a_request_that_the_server_cut_in_silence_is_noticed() -> None:
    """Its own count says so; the window is learnt from it."""
    inner = Small(9**9, plain, usage=lambda _: Usage(prompt=2040, completion=1))
    model = FittingModel(inner, local=True)
    response = await model.complete(BOOK)
    (cut,) = response.degraded
    assert (cut.kind, cut.subject) == ("history", "openai/m")
    assert "read 2040 of about" in cut.what
    assert model.window.tokens == 2048
    await model.complete(BOOK)
    assert inner.sizes[-1] < 2048 * 4


async def test_a_fallback_that_reads_more_gets_the_whole_request() -> None:
    """Before anything is cut; without one, the request is shortened."""
    large = FittingModel(Small(9**9, plain, name="openai/large"), 100_000)
    small = FittingModel(Small(16_000, counted), 0, 4096, later=(large,))
    response = await FallbackModel([small, large]).complete(BOOK)
    assert response.model == "openai/large"
    assert [one.kind for one in response.degraded] == ["model"]
    small.later = ()
    assert (await FallbackModel([small]).complete(BOOK)).model == "openai/m"


async def test_a_request_above_the_rate_of_a_minute_goes_to_the_next_model() -> None:
    """Waiting would not help; the limit is not the window."""

    def of_rate(size: int) -> ModelError:
        return ContextOverflowError("groq: TPM", 4000, size // 4, of_rate=True)

    other = FittingModel(Small(9**9, plain, name="openai/other"))
    first = FittingModel(Small(16_000, of_rate), later=(other,))
    assert (await FallbackModel([first, other]).complete(BOOK)).model == "openai/other"
    alone = FittingModel(Small(16_000, of_rate))
    assert (await alone.complete(BOOK)).message.content == "yes"
    assert alone.window.source == "assumed"


@pytest.mark.parametrize(
    "error", [RetryableModelError("503"), FatalModelError("404"), FilteredError("filter")]
)
async def test_other_errors_pass_through(error: ModelError) -> None:
    """They are not about length."""
    inner = Small(-1, lambda _: error)
    with pytest.raises(type(error)):
        await FittingModel(inner).complete(BOOK)
    assert len(inner.sizes) == 1


async def test_the_model_counts_better_than_an_estimate() -> None:
    """What it counted decides how much fits next time."""
    inner = Small(9**9, plain, usage=lambda size: Usage(prompt=size, completion=1))
    model = FittingModel(inner, 20_000)
    await model.complete(ModelRequest("", (UserMessage(content="字" * 9000),)))
    await model.complete(ModelRequest("", (UserMessage(content="字" * 30_000),)))
    assert inner.sizes[-1] < 30_000
