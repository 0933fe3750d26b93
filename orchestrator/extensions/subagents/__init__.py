"""Agents that work for others: subagents, prompts as tools, and chats that are handed over.

`prompt_entries` makes tools of what a prompt definition lists, `spawn_subagent` is there without
one. `subagent_turn` runs a subagent in a process of its own.
"""
