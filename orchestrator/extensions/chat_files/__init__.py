"""The files of a chat: agents list them, read their text, and send them."""
