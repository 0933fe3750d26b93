"""Models that hear, speak and draw: the requests, the answers, and every failure."""

from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import pytest
from fakes.model_api import Reply
from fakes.openai_api import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    PNG,
    MediaApi,
    recording,
    said,
)
from fakes.scripted import ScriptedModel

from orchestrator.extensions.media.sound_requests import (
    MAX_SPEECH_BYTES,
    SpeechRequest,
    TranscriptionRequest,
)
from orchestrator.extensions.media.worker.extension import choose_media
from orchestrator.extensions.media.worker.media_models import MediaModels
from thinker.extension import WorkerView
from thinker.models.choose import find_served_endpoint
from thinker.models.failures import format_headline
from thinker.models.retry import Retries
from thinker.protocol.env import ThinkerSettings
from thinker.protocol.media_requests import DrawingRequest
from thinker.protocol.messages import Usage
from thinker.worker_errors import FatalModelError, ModelError, RetryableModelError

KEY = "sk-secret"
OGG = TranscriptionRequest(media_type="audio/ogg", data=recording("tea please", 3.0))
HELLO = SpeechRequest(text="Hello, Ada.")
CAT = DrawingRequest(prompt="a cat", shape="wide", count=2)
USED = Usage(prompt=INPUT_TOKENS, completion=OUTPUT_TOKENS)


async def _at_once(seconds: float) -> None:
    """Wait for nothing."""


def view(settings: ThinkerSettings, environ: dict[str, str]) -> WorkerView:
    """The worker as its extensions see it."""
    find_endpoint = partial(find_served_endpoint, settings, environ)
    return WorkerView(settings, ScriptedModel(), None, find_endpoint, AsyncExitStack())


def models_at(api: MediaApi, **fields: Any) -> MediaModels:
    """The models behind the fake."""
    place = {"provider": "openai", "base_url": f"{api.url}/v1"}
    settings = ThinkerSettings.model_validate(
        {
            "hear": {"model": "ears", **place},
            "speak": {"model": "mouth", "voice": "alloy", **place},
            "draw": {"model": "brush", **place},
            **fields,
        }
    )
    settings = ThinkerSettings.read(settings.to_env())  # as a worker gets them
    found = choose_media(view(settings, {"OPENAI_API_KEY": KEY}))
    assert found is not None
    for model in (found.hearing, found.speaking, found.drawing):
        assert model is not None
        model._retries = Retries(attempts=2, sleep=_at_once)
    return found


async def test_recording_becomes_text_by_a_form_with_its_file() -> None:
    """The file's name tells the format; the language is told if it is set."""
    async with MediaApi() as api:
        place = {"provider": "openai", "base_url": f"{api.url}/v1"}
        models = models_at(api, hear={"model": "ears", "language": "de", **place})
        heard = await models.transcribe_recording(OGG)
        await models.aclose()
    assert (heard.text, heard.model, heard.usage) == ("tea please", "openai/ears", USED)
    assert heard.seconds == 3.0
    (request,) = api.requests
    assert request.path == "/v1/audio/transcriptions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "ears",
        "response_format": "json",
        "language": "de",
        "file": ("recording.ogg", OGG.data),
    }


async def test_text_becomes_speech() -> None:
    """In the voice and the format that are set."""
    async with MediaApi() as api:
        models = models_at(api)
        spoken = await models.speak_text(HELLO)
        await models.aclose()
    assert (said(spoken.data), spoken.media_type, spoken.characters) == (
        "Hello, Ada.",
        "audio/ogg",
        len("Hello, Ada."),
    )
    (request,) = api.requests
    assert request.body == {
        "model": "mouth",
        "voice": "alloy",
        "response_format": "opus",
        "input": "Hello, Ada.",
    }


async def test_pictures_are_drawn() -> None:
    """As many as asked for, in the size that the model has for the shape."""
    async with MediaApi() as api:
        models = models_at(api)
        drawn = await models.draw_pictures(CAT)
        await models.aclose()
    assert drawn.drawn == (PNG + b"a cat 0", PNG + b"a cat 1")
    assert (drawn.pictures, drawn.usage) == (2, USED)
    assert api.requests[0].body == {
        "model": "brush",
        "prompt": "a cat",
        "n": 2,
        "size": "1536x1024",
        "response_format": "b64_json",
    }


async def test_model_that_refuses_to_be_asked_for_base64_is_asked_without() -> None:
    """Once; from then on it is not asked for it."""
    async with MediaApi() as api:
        api.base64_alone = True
        place = {"provider": "openai", "base_url": f"{api.url}/v1"}
        brush = {"model": "brush", "quality": "low", "sizes": {"wide": "10x20"}, **place}
        models = models_at(api, draw=brush)
        assert len((await models.draw_pictures(CAT)).drawn) == 2
        await models.draw_pictures(CAT)
        await models.aclose()
    asked = ["response_format" in request.body for request in api.requests]
    assert asked == [True, False, False]
    assert (api.requests[0].body["size"], api.requests[0].body["quality"]) == ("10x20", "low")


async def test_picture_that_is_only_linked_is_not_drawn_again() -> None:
    """A second one would be paid for, too; a broker would have fetched it."""
    async with MediaApi() as api:
        api.links = "https://elsewhere.example"
        models = models_at(api)
        with pytest.raises(FatalModelError, match="cannot be fetched"):
            await models.draw_pictures(CAT)
        await models.aclose()
        assert len(api.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply("busy", status=503),
        Reply("slow down", status=429),
        Reply(fault="cut"),
        Reply(fault="broken_json"),
    ],
    ids=["unavailable", "flood", "cut", "broken"],
)
async def test_passing_failure_is_tried_again(reply: Reply) -> None:
    """Then the recording is heard."""
    async with MediaApi() as api:
        api.script.append(reply)
        models = models_at(api)
        assert (await models.transcribe_recording(OGG)).text == "tea please"
        await models.aclose()
        assert len(api.requests) == 2


@pytest.mark.parametrize(
    "sound",
    [b'{"detail": "no such voice"}', b"<html>", b"", b"ID3" + bytes(MAX_SPEECH_BYTES)],
    ids=["words", "page", "nothing", "endless"],
)
async def test_answer_that_is_no_speech_is_none(sound: bytes) -> None:
    """Whatever its status says."""
    async with MediaApi() as api:
        api.sound = sound
        models = models_at(api)
        with pytest.raises(RetryableModelError):
            await models.speak_text(HELLO)
        await models.aclose()


async def test_refusal_says_what_to_do_without_a_quote() -> None:
    """What a chat may be shown."""
    async with MediaApi() as api:
        api.script.append(Reply("no such model: ears of Ada", status=404))
        models = models_at(api)
        with pytest.raises(ModelError) as refused:
            await models.transcribe_recording(OGG)
        await models.aclose()
    assert format_headline(refused.value) == (
        "openai does not know the model 'ears'; set \"model\" (or baseUrl)"
    )


async def test_model_without_its_key_fails_when_it_is_asked() -> None:
    """The agent itself works."""
    settings = ThinkerSettings.model_validate({"hear": {"model": "ears", "provider": "openai"}})
    models = choose_media(view(settings, {}))
    assert models is not None
    with pytest.raises(FatalModelError) as refused:
        await models.transcribe_recording(OGG)
    assert "without a key; set OPENAI_API_KEY" in format_headline(refused.value)
    with pytest.raises(FatalModelError, match="has no such model"):
        await models.speak_text(HELLO)
    await models.aclose()


def test_agent_without_such_models_loads_none() -> None:
    """It has nothing to ask."""
    assert choose_media(view(ThinkerSettings(), {})) is None
