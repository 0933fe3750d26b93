"""Hearing and speaking within the limits of an agent; each failure is a sentence."""

from pathlib import Path
from typing import Any

import pytest
from fakes.background_work import BackgroundBench, background
from fakes.openai_api import recording
from fakes.tool_call import plain

from orchestrator.agentsfile import Price
from orchestrator.document_text import UnreadableError
from orchestrator.errors import MediaError, WorkerLostError
from orchestrator.extensions.media.media_calls import REMEMBERED, MediaCalls
from orchestrator.extensions.media.sound_requests import (
    AUDIO_HEAR,
    AUDIO_SPEAK,
    MAX_RECORDING_BYTES,
    SpeechRequest,
    SpeechResult,
    TranscriptionRequest,
    TranscriptionResult,
)
from thinker.protocol.media_requests import PICTURE_DRAW, DrawingRequest, DrawingResult
from thinker.protocol.messages import Usage
from thinker.protocol.peer import FAILED, RpcError

PLACE = {"provider": "openai"}
VOICE = {"hear": {"model": "ears", **PLACE}, "speak": {"model": "m", "voice": "v", **PLACE}}
OGG = "audio/ogg"


def heard(request: TranscriptionRequest) -> TranscriptionResult:
    """What the model hears: as many bytes as there are."""
    return TranscriptionResult(
        text=str(len(request.data)), model="openai/ears", usage=Usage(), seconds=30.0
    )


def media(bench: BackgroundBench) -> MediaCalls:
    """The calls of the bench's agent."""
    return MediaCalls(bench.calls, plain)


async def text(bench: BackgroundBench, calls: MediaCalls, data: bytes, kind: str = OGG) -> str:
    """The text of a file for the agent ``work``."""
    return await calls.make_reader(bench.agent, "work")(data, kind)


async def refusal(bench: BackgroundBench, data: bytes) -> str:
    """Why a recording has no text."""
    with pytest.raises(UnreadableError) as refused:
        await text(bench, media(bench), data)
    return str(refused.value)


def spent(bench: BackgroundBench) -> list[tuple[Any, ...]]:
    """Every call that was counted: model, state, cost, purpose."""
    return bench.db.execute("SELECT model, state, usd, purpose FROM model_call").fetchall()


async def test_recording_is_heard_once_and_counted(tmp_path: Path) -> None:
    """Reading on in it does not pay again; other files need no model."""
    prices = {"openai/ears": {"perMinute": 0.5}}
    async with background(tmp_path, voice=VOICE) as bench:
        bench.file = bench.file.model_copy(update={"prices": _priced(prices)})
        bench.serve(AUDIO_HEAR, TranscriptionRequest, heard)
        calls, sound = media(bench), recording("hello")
        assert await text(bench, calls, sound) == str(len(sound))
        assert await text(bench, calls, sound) == str(len(sound))
        assert await text(bench, calls, b"notes", "text/plain") == "notes"
        assert len(bench.requests) == 1
        assert spent(bench) == [("openai/ears", "settled", 0.25, "voice")]


def _priced(prices: dict[str, Any]) -> dict[str, Price]:
    return {name: Price.model_validate(price) for name, price in prices.items()}


async def test_kept_texts_take_a_bounded_room(tmp_path: Path) -> None:
    """The oldest goes first."""
    async with background(tmp_path, voice=VOICE) as bench:
        bench.serve(AUDIO_HEAR, TranscriptionRequest, heard)
        calls = media(bench)
        for number in [*range(REMEMBERED + 1), 0]:
            await text(bench, calls, recording(str(number)))
        assert len(bench.requests) == REMEMBERED + 2
        assert len(calls._heard) == REMEMBERED


async def test_agent_without_ears_is_told_of_a_recording(tmp_path: Path) -> None:
    """And what its operator can set."""
    async with background(tmp_path) as bench:
        assert "cannot hear recordings" in await refusal(bench, recording("hello"))
        assert spent(bench) == []


async def test_long_recording_is_not_sent(tmp_path: Path) -> None:
    """The limit is said."""
    async with background(tmp_path, voice=VOICE) as bench:
        bench.serve(AUDIO_HEAR, TranscriptionRequest, heard)
        lasting = await refusal(bench, recording("hello", 2700.0))
        large = await refusal(bench, b"ID3" + bytes(MAX_RECORDING_BYTES))
        assert bench.requests == []
    assert lasting == "it is 45 minutes long; the limit for recordings is 30 minutes"
    assert large == "it is 10.0 MB; the limit for recordings is 10 MB"


async def test_silence_has_no_text(tmp_path: Path) -> None:
    """It is paid for all the same."""
    async with background(tmp_path, voice=VOICE) as bench:
        bench.serve(
            AUDIO_HEAR,
            TranscriptionRequest,
            lambda _: TranscriptionResult(model="openai/ears", usage=Usage(prompt=3)),
        )
        assert await refusal(bench, recording("")) == "it contains no speech"
        assert [state for _, state, _, _ in spent(bench)] == ["settled"]


async def test_refusal_of_the_model_is_the_reason_and_costs_nothing(tmp_path: Path) -> None:
    """In the words of the worker, which quote no provider."""

    def refused(_: TranscriptionRequest) -> TranscriptionResult:
        raise RpcError(FAILED, "openai answered 500")

    async with background(tmp_path, voice=VOICE) as bench:
        bench.serve(AUDIO_HEAR, TranscriptionRequest, refused)
        told = await refusal(bench, recording("hello"))
        assert told == "it could not be transcribed: openai answered 500"
        assert spent(bench) == []


async def test_agent_whose_budget_is_used_up_hears_nothing(tmp_path: Path) -> None:
    """No model is asked: what the recording will take is reserved first."""
    async with background(tmp_path, voice=VOICE, budget={"tokensPerDay": 100}) as bench:
        bench.serve(AUDIO_HEAR, TranscriptionRequest, heard)
        assert "budget is used up" in await refusal(bench, recording("hello", 20.0))
        assert bench.requests == []
        assert await text(bench, media(bench), recording("hello", 5.0))


async def test_lost_worker_is_no_answer(tmp_path: Path) -> None:
    """The turn goes on in another process, and hears then."""
    async with background(tmp_path, voice=VOICE) as bench:

        def dies(request: TranscriptionRequest) -> TranscriptionResult:
            bench.lose_worker()
            return heard(request)

        bench.serve(AUDIO_HEAR, TranscriptionRequest, dies)
        with pytest.raises(WorkerLostError):
            await text(bench, media(bench), recording("hello"))
        assert [state for _, state, _, _ in spent(bench)] == ["lost"]


async def test_text_is_spoken_and_counted_by_its_characters(tmp_path: Path) -> None:
    """A model without a price costs what is not known."""

    def speak(request: SpeechRequest) -> SpeechResult:
        return SpeechResult(
            model="openai/m", usage=Usage(), characters=len(request.text), data=b"OggS"
        )

    async with background(tmp_path, voice=VOICE) as bench:
        bench.serve(AUDIO_SPEAK, SpeechRequest, speak)
        calls = media(bench)
        assert (await calls.speak_text(bench.agent, "work", "Hello!")).data == b"OggS"
        priced = _priced({"openai/m": {"perMillionCharacters": 15.0}})
        bench.file = bench.file.model_copy(update={"prices": priced})
        await calls.speak_text(bench.agent, "work", "Hello!" * 100)
        costs = [usd for _, _, usd, _ in spent(bench)]
        assert costs == [None, pytest.approx(0.009)]


async def test_agent_without_a_mouth_says_so(tmp_path: Path) -> None:
    """It was taken away meanwhile."""
    async with background(tmp_path) as bench:
        with pytest.raises(MediaError, match="cannot speak"):
            await media(bench).speak_text(bench.agent, "work", "Hello!")


async def test_pictures_are_counted_each(tmp_path: Path) -> None:
    """A budget in dollars lets no more through than it has room for."""

    def draw(request: DrawingRequest) -> DrawingResult:
        pictures = (b"png",) * request.count
        return DrawingResult(
            model="openai/brush", usage=Usage(), pictures=request.count, drawn=pictures
        )

    brush = {"model": "brush", **PLACE}
    async with background(tmp_path, images=brush, budget={"usdPerDay": 0.25}) as bench:
        prices = _priced({"openai/brush": {"perPicture": 0.1}})
        bench.file = bench.file.model_copy(update={"prices": prices})
        bench.serve(PICTURE_DRAW, DrawingRequest, draw)
        calls = media(bench)
        drawn = await calls.draw_pictures(
            bench.agent, "work", DrawingRequest(prompt="a cat", count=2)
        )
        assert len(drawn.drawn) == 2
        with pytest.raises(MediaError, match="budget is used up"):
            await calls.draw_pictures(bench.agent, "work", DrawingRequest(prompt="a cat"))
        assert spent(bench) == [("openai/brush", "settled", 0.2, "pictures")]
