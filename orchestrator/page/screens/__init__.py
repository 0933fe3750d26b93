"""One file for each screen: reading plain values, and drawing them."""

from orchestrator.page.screens import chats, now

SCREENS = (*now.SCREENS, *chats.SCREENS)
