"""Formats of recordings: their names, first bytes and durations."""

from pathlib import PurePath

KINDS = {  # keyed by file ending; servers know the first ending of each kind
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".mp3": "audio/mpeg",
    ".mpga": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".aac": "audio/aac",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}
OGG, MP3, M4A = "audio/ogg", "audio/mpeg", "audio/mp4"
OTHER_NAMES = {"audio/x-wav": "audio/wav", "audio/vnd.wave": "audio/wav", "audio/mp3": MP3}
OTHER_NAMES |= {"audio/opus": OGG, "audio/x-m4a": M4A, "audio/x-flac": "audio/flac"}
OPUS_RATE = 48_000  # samples a second, as granules of Opus count
USUAL_RATE = 16_000  # bytes a second, of MP3
MPEG_SYNC, MPEG_MASK = 0xE0, 0xE0  # of the second byte of a frame, after 0xFF


def find_recording_type(name: str) -> str | None:
    """Return the media type of a recording with this file name; None for other files."""
    return KINDS.get(PurePath(name).suffix.lower())


def find_file_ending(media_type: str) -> str:
    """Return the usual file ending of recordings of a media type; empty for other types."""
    plain = media_type.partition(";")[0].strip().lower()
    kind = OTHER_NAMES.get(plain, plain)
    return next((ending for ending, known in KINDS.items() if known == kind), "")


def detect_sound_type(data: bytes) -> str | None:
    """Return the media type of audio data by its first bytes; None for other data."""
    if data.startswith(b"OggS"):
        return OGG
    if data.startswith(b"RIFF") and data[8:12] == b"WAVE":
        return "audio/wav"
    if data.startswith(b"fLaC"):
        return "audio/flac"
    if data[4:8] == b"ftyp":
        return M4A
    if data.startswith((b"\xff\xf1", b"\xff\xf9")):
        return "audio/aac"
    frame = len(data) > 1 and data[0] == 0xFF and data[1] & MPEG_MASK == MPEG_SYNC  # noqa: PLR2004
    return MP3 if frame or data.startswith(b"ID3") else None


def measure_duration(data: bytes) -> float:
    """Return the duration of a recording in seconds.

    Ogg Opus and WAV files state their duration; others are estimated by their size, as if MP3.
    """
    if data.startswith(b"OggS") and b"OpusHead" in data[:64]:
        last = data.rfind(b"OggS")
        granules = int.from_bytes(data[last + 6 : last + 14], "little", signed=True)
        if granules > 0:
            return granules / OPUS_RATE
    if data.startswith(b"RIFF") and data[8:16] == b"WAVEfmt ":
        rate = int.from_bytes(data[28:32], "little")  # bytes a second
        if rate:
            return len(data) / rate
    return len(data) / USUAL_RATE
