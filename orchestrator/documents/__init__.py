"""The text of files: plain text at once, documents by a jailed process that ends with each.

`document_text` is what the daemon uses; the library that knows the formats is loaded by
``python -P -m orchestrator.documents`` alone.
"""
