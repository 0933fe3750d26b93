"""Pictures as every provider takes them: four formats, known by their first bytes, and a size."""

MAX_PICTURE = 3_900_000  # bytes: 5 MB in base64 is the least that a provider allows
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def media_type(data: bytes) -> str | None:
    """What kind of picture bytes are, whatever their sender says; None when they are none."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in STARTS.items() if data.startswith(start)), None)
