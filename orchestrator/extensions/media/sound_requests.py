"""Wire requests about sound: transcribe a recording, speak text."""

from typing import Annotated

from pydantic import Field

from thinker.protocol.background import MeteredResult
from thinker.protocol.media_requests import Content
from thinker.protocol.messages import Frozen

AUDIO_HEAR = "audio/hear"  # TranscriptionRequest → TranscriptionResult
AUDIO_SPEAK = "audio/speak"  # SpeechRequest → SpeechResult
MAX_RECORDING_BYTES = 10_000_000  # a frame of the wire has 16 MiB
MAX_RECORDING_SECONDS = 1800
MAX_SPOKEN_CHARACTERS = 4000  # most models accept 4096
MAX_SPEECH_BYTES = 11_000_000


class TranscriptionRequest(Frozen):
    """A recording to turn into text."""

    media_type: str
    data: Content = Field(repr=False)


class TranscriptionResult(MeteredResult):
    """The transcript of a recording."""

    text: str = ""


class SpeechRequest(Frozen):
    """Text to speak."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_SPOKEN_CHARACTERS)]


class SpeechResult(MeteredResult):
    """The speech as the content of a file."""

    media_type: str = ""
    data: Content = Field(b"", repr=False)
