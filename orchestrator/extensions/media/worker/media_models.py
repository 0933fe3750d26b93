"""Models for sound and pictures, on any server with OpenAI's API.

``/audio/transcriptions`` takes a form with a file, ``/audio/speech`` answers with a file, and
``/images/generations`` answers with pictures in base64; the broker fetches pictures that a
server only links to.
"""

import secrets
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import orjson
from pydantic import BaseModel

from orchestrator.extensions.media import sound_requests
from orchestrator.extensions.media.sound_requests import (
    SpeechRequest,
    SpeechResult,
    TranscriptionRequest,
    TranscriptionResult,
)
from thinker.formats import recordings
from thinker.models.base import ModelRequest, ModelResponse
from thinker.models.collector import Collector
from thinker.models.endpoint import ModelEndpoint, ModelTimeouts
from thinker.models.failures import Account, OutputRefusedError
from thinker.models.retry import Retries
from thinker.models.served_endpoint import ServedModelEndpoint
from thinker.protocol import media_requests, model_endpoints
from thinker.protocol.media_requests import DrawingRequest, DrawingResult
from thinker.protocol.messages import JsonObject, Usage
from thinker.protocol.served_models import DrawingModel, HearingModel, SpeakingModel
from thinker.protocol.token_counts import OpenAICounts
from thinker.worker_errors import FatalModelError

# The supervisor waits `MODEL_CALL_SECONDS` for one request, which is enough for both.
TIMEOUTS = ModelTimeouts(connect=5.0, total=90.0)
RETRIES = Retries(attempts=3, patience=20.0)
Found = TypeVar("Found", bound=Collector)
Endpoint = TypeVar("Endpoint", bound="MediaEndpoint")


class _Text(BaseModel):
    text: str
    usage: OpenAICounts | None = None


class _Picture(BaseModel):
    b64_json: str | None = None


class _Pictures(BaseModel):
    data: list[_Picture]
    usage: OpenAICounts | None = None


@dataclass
class _TranscriptCollector(Collector):
    """Collects the transcript of one recording."""

    said: str = ""
    seconds: float = 0.0

    def feed(self, data: bytes) -> bool:
        answer = _Text.model_validate_json(data)
        self.said, counts = answer.text.strip(), answer.usage or OpenAICounts()
        self.seconds, self._usage = counts.seconds or 0.0, counts.to_usage()
        self.finished = True
        return True


@dataclass
class _SpeechCollector(Collector):
    """Collects the speech in one answer."""

    sound: bytes = b""
    media_type: str = ""

    def feed(self, data: bytes) -> bool:
        found = recordings.detect_sound_type(data[:16])
        if found is None or len(data) > sound_requests.MAX_SPEECH_BYTES:
            raise ValueError("not an audio file, or too large for a message")
        self.sound, self.media_type, self.finished = data, found, True
        return True


@dataclass
class _PictureCollector(Collector):
    """Collects the pictures in one answer."""

    drawn: tuple[bytes, ...] = ()

    def feed(self, data: bytes) -> bool:
        answer = _Pictures.model_validate_json(data)
        encoded = [item.b64_json for item in answer.data if item.b64_json]
        self.drawn = tuple(b64decode(picture, validate=True) for picture in encoded)
        if not encoded:  # a retry would cost again
            raise FatalModelError(f"{self.provider} drew a picture that cannot be fetched")
        if sum(map(len, self.drawn)) > media_requests.MAX_DRAWN_BYTES:
            raise FatalModelError(
                f"{self.provider} drew pictures too large for a message; ask for less"
            )
        self._usage = answer.usage.to_usage() if answer.usage else Usage()
        self.finished = True
        return True


class MediaEndpoint:
    """The endpoint of one model; temporary failures are retried."""

    use: ClassVar[model_endpoints.Use]

    def __init__(
        self, model: str, place: ServedModelEndpoint, kind: str = "", retries: Retries = RETRIES
    ) -> None:
        account = Account(place.provider, model, place.key)
        sent = model_endpoints.build_headers(place.provider, place.key)
        if kind:
            sent["content-type"] = kind
        url = model_endpoints.build_use_url(self.use, place.provider, place.base_url, model)
        self.name = f"{place.provider.name}/{model}"
        self._endpoint = ModelEndpoint(account, url, sent, place.network, TIMEOUTS)
        self._retries = retries
        self._problem = place.problem

    async def aclose(self) -> None:
        await self._endpoint.aclose()

    async def _post_request(
        self, body: bytes, collector: Callable[[str, str], Found]
    ) -> tuple[ModelResponse, Found]:
        """Post a request and return the answer; raise `ModelError` if all attempts fail."""
        if self._problem:
            raise FatalModelError(self._problem)
        account = self._endpoint.account

        async def post_once() -> tuple[ModelResponse, Found]:
            found = collector(account.provider.name, account.model)
            return await self._endpoint.post_bytes(body, found, ModelRequest("", ())), found

        return await self._retries.call_with_retries(self.name, post_once)


class HearingEndpoint(MediaEndpoint):
    """Turns recordings into text."""

    use = "hear"

    def __init__(
        self, settings: HearingModel, place: ServedModelEndpoint, retries: Retries = RETRIES
    ) -> None:
        self._mark = secrets.token_hex(24)  # which no recording contains
        kind = f"multipart/form-data; boundary={self._mark}"
        super().__init__(settings.model, place, kind, retries)
        language = {"language": settings.language} if settings.language else {}
        self._fields = {"model": settings.model, "response_format": "json", **language}

    async def transcribe_recording(self, request: TranscriptionRequest) -> TranscriptionResult:
        """Transcribe a recording; raise `ModelError` if the model does not answer."""
        response, found = await self._post_request(self._build_form(request), _TranscriptCollector)
        return TranscriptionResult(
            model=self.name,
            usage=response.usage,
            call_ids=response.call_ids,
            text=found.said,
            seconds=found.seconds or recordings.measure_duration(request.data),
        )

    def _build_form(self, request: TranscriptionRequest) -> bytes:
        """Return a form (RFC 7578) with the recording; its file name tells servers the format."""
        head = "".join(
            f'--{self._mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in self._fields.items()
        )
        name = f"recording{recordings.find_file_ending(request.media_type)}"
        head += (
            f'--{self._mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            f"Content-Type: {request.media_type}\r\n\r\n"
        )
        return b"".join((head.encode(), request.data, f"\r\n--{self._mark}--\r\n".encode()))


class SpeakingEndpoint(MediaEndpoint):
    """Speaks text."""

    use = "speak"

    def __init__(
        self, settings: SpeakingModel, place: ServedModelEndpoint, retries: Retries = RETRIES
    ) -> None:
        super().__init__(settings.model, place, retries=retries)
        self._fields: JsonObject = {
            "model": settings.model,
            "voice": settings.voice,
            "response_format": settings.format,
        }

    async def speak_text(self, request: SpeechRequest) -> SpeechResult:
        """Speak ``request.text``; raise `ModelError` if the model does not answer."""
        body = orjson.dumps({**self._fields, "input": request.text})
        response, found = await self._post_request(body, _SpeechCollector)
        return SpeechResult(
            model=self.name,
            usage=response.usage,
            call_ids=response.call_ids,
            media_type=found.media_type,
            data=found.sound,
            characters=len(request.text),
        )


class DrawingEndpoint(MediaEndpoint):
    """Draws pictures."""

    use = "draw"

    def __init__(
        self, settings: DrawingModel, place: ServedModelEndpoint, retries: Retries = RETRIES
    ) -> None:
        super().__init__(settings.model, place, retries=retries)
        self._settings = settings
        # Some models always answer in base64, and refuse this field.
        self._format: JsonObject = {"response_format": "b64_json"}

    async def draw_pictures(self, request: DrawingRequest) -> DrawingResult:
        """Draw pictures; raise `ModelError` if the model does not answer."""
        settings = self._settings
        body: JsonObject = {
            "model": settings.model,
            "prompt": request.prompt,
            "n": request.count,
            "size": settings.find_size(request.shape),
        }
        if settings.quality:
            body["quality"] = settings.quality
        try:
            response, found = await self._post_request(
                orjson.dumps({**body, **self._format}), _PictureCollector
            )
        except OutputRefusedError:
            if not self._format:
                raise
            response, found = await self._post_request(orjson.dumps(body), _PictureCollector)
            self._format = {}
        return DrawingResult(
            model=self.name,
            usage=response.usage,
            call_ids=response.call_ids,
            drawn=found.drawn,
            pictures=len(found.drawn),
        )


@dataclass(frozen=True)
class MediaModels:
    """An agent's models for sound and pictures."""

    hearing: HearingEndpoint | None = None
    speaking: SpeakingEndpoint | None = None
    drawing: DrawingEndpoint | None = None

    async def transcribe_recording(self, request: TranscriptionRequest) -> TranscriptionResult:
        """Transcribe a recording; raise `ModelError` if that fails."""
        return await _require_endpoint(self.hearing).transcribe_recording(request)

    async def speak_text(self, request: SpeechRequest) -> SpeechResult:
        """Speak ``request.text``; raise `ModelError` if that fails."""
        return await _require_endpoint(self.speaking).speak_text(request)

    async def draw_pictures(self, request: DrawingRequest) -> DrawingResult:
        """Draw pictures; raise `ModelError` if that fails."""
        return await _require_endpoint(self.drawing).draw_pictures(request)

    async def aclose(self) -> None:
        for model in (self.hearing, self.speaking, self.drawing):
            if model is not None:
                await model.aclose()


def _require_endpoint(model: Endpoint | None) -> Endpoint:
    """Return the endpoint; raise `FatalModelError` if the agent has none."""
    if model is None:
        raise FatalModelError("the agent has no such model; reload agents.json")
    return model
