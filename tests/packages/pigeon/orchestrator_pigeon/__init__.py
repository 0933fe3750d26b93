"""Pigeon, a chat system whose server speaks lines of JSON over a socket."""
