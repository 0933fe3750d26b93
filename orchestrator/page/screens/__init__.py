"""One file for each screen: reading plain values, and drawing them."""

from orchestrator.page.screens import now

SCREENS = (*now.SCREENS,)
