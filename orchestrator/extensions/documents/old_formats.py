"""The formats of Word, Excel and PowerPoint until 2003, and what programs write in their name."""

from thinker.formats.documents import OFFICE, RTF, WORD

# Each with the format that followed.
OLD = {
    "application/msword": WORD,
    "application/vnd.ms-excel": f"{OFFICE}.spreadsheetml.sheet",
    "application/vnd.ms-powerpoint": f"{OFFICE}.presentationml.presentation",
}
START = b"\xd0\xcf\x11\xe0"
PLAIN = "text/plain"


def correct_media_type(media_type: str, data: bytes) -> str:
    """Return the media type of a document whose name may say that it is of an old format.

    Programs write text, web pages, RTF and new documents under the names of old ones.
    """
    if media_type not in OLD or data.startswith(START):
        return media_type
    if data.startswith(b"PK"):
        return OLD[media_type]
    return RTF if data.startswith(b"{\\rtf") else PLAIN
