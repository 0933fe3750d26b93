"""Wire requests about sound and pictures: hear a recording, speak a text, draw pictures.

As in `background`, the supervisor decides and stores, and the worker makes the model calls.
"""

from base64 import b64decode, b64encode
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer

from thinker.protocol.background import MeteredResult
from thinker.protocol.messages import Frozen
from thinker.protocol.served_models import PictureShape

AUDIO_HEAR = "audio/hear"  # Hear → Heard
AUDIO_SPEAK = "audio/speak"  # Speak → Spoken
PICTURE_DRAW = "picture/draw"  # Draw → Drawn

MOST_HEARD = 10_000_000  # bytes of a recording; a frame of the wire has 16 MiB
LONGEST_HEARD = 1800  # seconds of a recording
MOST_SPOKEN = 4000  # characters; most models take 4096
MOST_SOUND = 11_000_000  # bytes of speech
MOST_PICTURES = 4  # of one request
MOST_DRAWN = 11_000_000  # bytes of all pictures of one request
MOST_ASKED = 4000  # characters that describe a picture


def _decode_wire_bytes(value: object) -> object:
    return b64decode(value, validate=True) if isinstance(value, str) else value


Content: TypeAlias = Annotated[  # bytes here, base64 on the wire
    bytes,
    BeforeValidator(_decode_wire_bytes),
    PlainSerializer(lambda data: b64encode(data).decode()),
]


class Hear(Frozen):
    """A recording to turn into text."""

    media_type: str
    data: Content = Field(repr=False)


class Heard(MeteredResult):
    """What is said in it."""

    text: str = ""


class Speak(Frozen):
    """A text to speak."""

    text: Annotated[str, Field(min_length=1, max_length=MOST_SPOKEN)]


class Spoken(MeteredResult):
    """The speech as the content of a file."""

    media_type: str = ""
    data: Content = Field(b"", repr=False)


class Draw(Frozen):
    """Pictures to draw from a description."""

    prompt: Annotated[str, Field(min_length=1, max_length=MOST_ASKED)]
    shape: PictureShape = "square"
    count: Annotated[int, Field(ge=1, le=MOST_PICTURES)] = 1


class Drawn(MeteredResult):
    """The pictures as contents of files."""

    drawn: tuple[Content, ...] = Field((), repr=False)
