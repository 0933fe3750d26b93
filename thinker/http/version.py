"""The version of the program, and the name under which it asks servers."""

VERSION = "0.1.0"
USER_AGENT = f"orchestrator/{VERSION}"
