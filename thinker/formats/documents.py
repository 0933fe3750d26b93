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
UNREAD = {  # formats that nothing here reads
    f"{OPEN}.presentation": ".odp",
    "application/vnd.apple.pages": ".pages",
    "application/vnd.apple.numbers": ".numbers",
    "application/vnd.apple.keynote": ".key",
    "application/vnd.wordperfect": ".wpd",
    "application/vnd.ms-works": ".wps",
}
