"""Discord: servers and private chats over its gateway and REST API, by discord.py."""
