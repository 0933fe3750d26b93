"""Extract the text of PDF and office files, each in a jailed process of its own.

`jailed_reader` is what the daemon uses; only ``python -P -m orchestrator.extensions.documents``
loads the library that knows the formats.
"""
