"""Image formats and size limits that every model provider accepts."""

MAX_PICTURE = 3_900_000  # bytes; in base64 this is below 5 MiB, the lowest limit of a provider
MAX_MEDIA = (
    7_800_000  # bytes of all images and files of a tool's answer; they fit a frame of 16 MiB
)
MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def detect_image_type(data: bytes) -> str | None:
    """Return the media type of an image by its first bytes; None for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in STARTS.items() if data.startswith(start)), None)
