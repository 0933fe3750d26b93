"""The version of the program, and the user agent of its requests."""

VERSION = "0.1.0"
USER_AGENT = f"orchestrator/{VERSION}"
