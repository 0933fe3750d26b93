"""The file endings of documents that contain text, keyed by media type."""

OFFICE = "application/vnd.openxmlformats-officedocument"
OPEN = "application/vnd.oasis.opendocument"
PDF = "application/pdf"
ENDINGS = {
    PDF: ".pdf",
    f"{OFFICE}.wordprocessingml.document": ".docx",
    f"{OFFICE}.spreadsheetml.sheet": ".xlsx",
    f"{OFFICE}.presentationml.presentation": ".pptx",
    f"{OPEN}.text": ".odt",
    f"{OPEN}.spreadsheet": ".ods",
    "application/epub+zip": ".epub",
    "application/rtf": ".rtf",
}
