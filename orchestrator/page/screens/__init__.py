"""One file for each screen: reading plain values, and drawing them."""

from orchestrator.page.screens import chats, now, turn_table, waterfall

SCREENS = (*now.SCREENS, *chats.SCREENS, *turn_table.SCREENS, *waterfall.SCREENS)
