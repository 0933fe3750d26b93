"""The memory of agents: facts, profile and playbooks, and the search in them and in messages."""
