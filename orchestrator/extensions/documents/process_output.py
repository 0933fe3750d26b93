"""The output format of a document's process: a line with the outcome, then text."""

READ, REFUSED = "read", "refused"
MAX_TEXT = 2_000_000  # characters of one document; the rest is left out
