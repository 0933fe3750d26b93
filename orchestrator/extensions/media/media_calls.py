"""Transcribe recordings, speak answers and draw pictures, within the agents' limits.

Where: is a recording transcribed, and an answer spoken?
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TypeVar

import structlog

from orchestrator.agentsfile import AgentDefinition
from orchestrator.bounded_dict import BoundedDict
from orchestrator.document_text import ReadDocument, UnreadableError
from orchestrator.errors import MediaError, WorkerError, WorkerLostError
from orchestrator.extensions.media.sound_requests import (
    AUDIO_HEAR,
    AUDIO_SPEAK,
    MAX_RECORDING_BYTES,
    MAX_RECORDING_SECONDS,
    SpeechRequest,
    SpeechResult,
    TranscriptionRequest,
    TranscriptionResult,
)
from orchestrator.loop_bound import LoopBound
from orchestrator.spending.metered_calls import MeteredCall, MeteredCalls
from thinker.formats import recordings
from thinker.protocol.background import MeteredResult
from thinker.protocol.media_requests import PICTURE_DRAW, DrawingRequest, DrawingResult
from thinker.protocol.messages import Frozen, Usage
from thinker.protocol.peer import RpcError

REMEMBERED = 16  # recordings whose text is kept, so that reading on does not transcribe them again
HEARD_TOKENS = 10  # reserved for a second of a recording
DRAWN_TOKENS = 1000  # reserved for a picture
NO_ROOM = "the agent is paused, or its budget is used up"
DEAF = 'the agent cannot hear recordings; set "voice" in agents.json'
MB = 1_000_000
Answer = TypeVar("Answer", bound=MeteredResult)
log = structlog.get_logger()


@dataclass(eq=False)
class MediaCalls(LoopBound):
    """Makes media calls; ``document_text`` extracts the text of files other than recordings."""

    calls: MeteredCalls
    document_text: ReadDocument
    _heard: BoundedDict[tuple[str, str], str] = field(
        default_factory=lambda: BoundedDict(REMEMBERED), init=False
    )
    _numbers: Iterator[int] = field(default_factory=lambda: count(1), init=False)

    def make_reader(self, definition: AgentDefinition, payer: str) -> ReadDocument:
        """Return a reader of any file's text for an agent; the calls are charged to ``payer``."""
        return partial(self._read_text, definition, payer)

    async def speak_text(self, definition: AgentDefinition, payer: str, text: str) -> SpeechResult:
        """Return ``text`` as speech; raises like `_call_worker`."""
        voice = definition.voice
        if voice is None or voice.speak is None:
            raise MediaError('the agent cannot speak; set "voice" in agents.json')
        length = len(text)
        foreseen = SpeechResult(
            model=voice.speak.name, usage=_build_usage(length // 4), characters=length
        )
        return await self._call_worker(
            definition, payer, AUDIO_SPEAK, SpeechRequest(text=text), foreseen
        )

    async def draw_pictures(
        self, definition: AgentDefinition, payer: str, request: DrawingRequest
    ) -> DrawingResult:
        """Return drawn pictures; raises like `_call_worker`."""
        images = definition.images
        if images is None:
            raise MediaError('the agent cannot draw; set "images" in agents.json')
        tokens, pictures = _build_usage(DRAWN_TOKENS * request.count), request.count
        foreseen = DrawingResult(model=images.name, usage=tokens, pictures=pictures)
        return await self._call_worker(definition, payer, PICTURE_DRAW, request, foreseen)

    async def _read_text(
        self, definition: AgentDefinition, payer: str, data: bytes, media_type: str
    ) -> str:
        """Return the text of a file.

        Raises:
            UnreadableError: the file has no text, or could not be transcribed.
            OrchestratorError: as `_call_worker`, but for a `MediaError`.
        """
        if not recordings.find_file_ending(media_type):
            return await self.document_text(data, media_type)
        voice = definition.voice
        if voice is None or voice.hear is None:
            raise UnreadableError(DEAF)
        key = payer, hashlib.sha256(data).hexdigest()
        if key not in self._heard:
            _check_length(data)
            seconds = recordings.measure_duration(data)
            tokens = _build_usage(round(seconds * HEARD_TOKENS))
            foreseen = TranscriptionResult(model=voice.hear.name, usage=tokens, seconds=seconds)
            request = TranscriptionRequest(media_type=media_type, data=data)
            try:
                heard = await self._call_worker(definition, payer, AUDIO_HEAR, request, foreseen)
            except MediaError as error:
                raise UnreadableError(f"it could not be transcribed: {error}") from error
            if not heard.text:
                raise UnreadableError("it contains no speech")
            self._heard[key] = heard.text
        return self._heard[key]

    async def _call_worker(
        self,
        definition: AgentDefinition,
        payer: str,
        method: str,
        request: Frozen,
        foreseen: Answer,
    ) -> Answer:
        """Call the agent's worker, and count the usage.

        Raises:
            MediaError: the model cannot be called, or did not answer.
            WorkerLostError: the worker ended.
            QuarantinedError: the worker cannot be started.
            UnknownAgentError: the agent was removed, or the daemon stops.
            JournalError: the usage cannot be stored.
        """
        calls, name = self.calls, f"{method}/{next(self._numbers)}"
        call = MeteredCall(name, payer, definition.agent_id, foreseen.usage.total, foreseen)
        try:
            answer = await calls.ask_worker(call, method, request, type(foreseen))
        except WorkerLostError:
            raise
        except WorkerError as error:
            log.warning("media_call_failed", agent_id=payer, method=method, problem=str(error))
            cause = error.__cause__
            reason = str(cause) if isinstance(cause, RpcError) else "the model did not answer"
            raise MediaError(reason) from error
        if answer is None:
            raise MediaError(NO_ROOM)
        await calls.store.transact(calls.gate.build_rules().settle_work, payer, name, answer)
        return answer


def _build_usage(count: int) -> Usage:
    return Usage(prompt=count)


def _check_length(data: bytes) -> None:
    """Raise `UnreadableError` for a recording that is too long."""
    seconds = recordings.measure_duration(data)
    if len(data) > MAX_RECORDING_BYTES:
        raise UnreadableError(
            f"it is {len(data) / MB:.1f} MB;"
            f" the limit for recordings is {MAX_RECORDING_BYTES // MB} MB"
        )
    if seconds > MAX_RECORDING_SECONDS:
        raise UnreadableError(
            f"it is {seconds / 60:.0f} minutes long;"
            f" the limit for recordings is {MAX_RECORDING_SECONDS // 60} minutes"
        )
