"""The contract of a channel, and its process in memory."""
