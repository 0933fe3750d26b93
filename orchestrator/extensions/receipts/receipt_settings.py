"""The field of receipts in agents.json."""

from typing import Literal

from orchestrator.agentsfile import ConfigModel


class ReceiptFields(ConfigModel):
    """The fields that receipts add to agents."""

    receipts: Literal["on", "mark", "off"] = "mark"
    """An answer that claims what no call did goes back once ("on"), or is only marked ("mark")."""
