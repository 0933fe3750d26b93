"""Recordings are known by their names and by how they begin, and tell how long they last."""

import io
import wave

import pytest
from fakes.openai_api import recording

from thinker.formats import recordings


def wav(seconds: int) -> bytes:
    """A silent recording."""
    found = io.BytesIO()
    with wave.open(found, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(16_000 * seconds))
    return found.getvalue()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("voice.OGA", "audio/ogg"),
        ("song.mp3", "audio/mpeg"),
        ("note.mp4", "video/mp4"),
        ("notes.txt", None),
        ("ogg", None),
    ],
)
def test_name_tells_the_format(name: str, kind: str | None) -> None:
    """Other files are none."""
    assert recordings.find_recording_type(name) == kind


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("audio/ogg", ".ogg"),
        ("Audio/Ogg; codecs=opus", ".ogg"),
        ("audio/x-wav", ".wav"),
        ("audio/x-m4a", ".m4a"),
        ("application/pdf", ""),
    ],
)
def test_format_has_the_ending_that_servers_know(kind: str, ending: str) -> None:
    """Also by another of its names."""
    assert recordings.find_file_ending(kind) == ending


@pytest.mark.parametrize(
    ("begins", "kind"),
    [
        (b"OggS\0\2", "audio/ogg"),
        (b"ID3\4", "audio/mpeg"),
        (b"\xff\xfb\x90", "audio/mpeg"),
        (b"\xff\xf1\x50", "audio/aac"),
        (wav(0)[:16], "audio/wav"),
        (b"fLaC\0", "audio/flac"),
        (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
        (b'{"text": 1}', None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_sound_is_known_by_how_it_begins(begins: bytes, kind: str | None) -> None:
    """What is no sound is not taken for one."""
    assert recordings.detect_sound_type(begins) == kind


def test_length_is_what_the_file_says() -> None:
    """Of Opus and WAV; of others it follows from their size."""
    assert recordings.measure_duration(recording("hello", 61.5)) == 61.5
    assert round(recordings.measure_duration(wav(3)), 1) == 3.0
    assert recordings.measure_duration(b"ID3" + bytes(31_997)) == 2.0
    assert recordings.measure_duration(b"OggS" + bytes(24) + b"OpusHead") < 1
    assert recordings.measure_duration(b"RIFF\0\0\0\0WAVEfmt ") < 1
