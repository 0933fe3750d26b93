"""The file endings of documents that contain text, keyed by media type."""

OFFICE = "application/vnd.openxmlformats-officedocument"
OPEN = "application/vnd.oasis.opendocument"
PDF = "application/pdf"
RTF = "application/rtf"
WORD = f"{OFFICE}.wordprocessingml.document"
ENDINGS = {
    PDF: ".pdf",
    WORD: ".docx",
    f"{OFFICE}.spreadsheetml.sheet": ".xlsx",
    f"{OFFICE}.presentationml.presentation": ".pptx",
    f"{OPEN}.text": ".odt",
    f"{OPEN}.spreadsheet": ".ods",
    "application/msword": ".doc",
    "application/vnd.ms-excel": ".xls",
    "application/vnd.ms-powerpoint": ".ppt",
    "application/epub+zip": ".epub",
    RTF: ".rtf",
}
# Formats of Word, Excel and PowerPoint until 2003, with those that followed.
OLD = {
    "application/msword": WORD,
    "application/vnd.ms-excel": f"{OFFICE}.spreadsheetml.sheet",
    "application/vnd.ms-powerpoint": f"{OFFICE}.presentationml.presentation",
}
OLD_START = b"\xd0\xcf\x11\xe0"
UNREAD = {  # formats that nothing here reads
    f"{OPEN}.presentation": ".odp",
    "application/vnd.apple.pages": ".pages",
    "application/vnd.apple.numbers": ".numbers",
    "application/vnd.apple.keynote": ".key",
    "application/vnd.wordperfect": ".wpd",
    "application/vnd.ms-works": ".wps",
}


def correct_media_type(media_type: str, data: bytes) -> str:
    """Return the media type of a document whose name says that it is of an old format.

    Programs write text, web pages, RTF and new documents under the names of old ones.
    """
    if media_type not in OLD or data.startswith(OLD_START):
        return media_type
    if data.startswith(b"PK"):
        return OLD[media_type]
    return RTF if data.startswith(b"{\\rtf") else "text/plain"
