"""An MCP server on stdio whose tools have irreversible effects: ``… effects LEDGER``.

``effect`` has its effect at each call. ``keyed`` takes ``_idempotency_key`` and has its effect once
for each key. Both record it in the ledger.
"""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.extensions.selftest.crash.ledger import Ledger
from orchestrator.extensions.selftest.crash.stdio_server import serve_tools

if TYPE_CHECKING:
    from orchestrator.testing.loopback import ForeignJson

KEY = "_idempotency_key"
TEXT = {"type": "string"}
TOOLS = [
    {
        "name": "effect",
        "description": "Does something that cannot be undone.",
        "inputSchema": {"type": "object", "properties": {"name": TEXT}, "required": ["name"]},
    },
    {
        "name": "keyed",
        "description": "Does something once for each key.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": TEXT, KEY: TEXT},
            "required": ["name", KEY],
        },
    },
]


def call_effect_tool(params: "ForeignJson", ledger: Ledger) -> str:
    """Carry out the effect of a call; return the text of its result."""
    arguments = params["arguments"]
    name = arguments["name"]
    if params["name"] == "effect":
        ledger.append("effect", name)
    else:
        ledger.append_once("keyed", f"{arguments[KEY]} {name}")
    return f"{name} is done"


if __name__ == "__main__":
    serve_tools("selftest", TOOLS, partial(call_effect_tool, ledger=Ledger(Path(sys.argv[1]))))
