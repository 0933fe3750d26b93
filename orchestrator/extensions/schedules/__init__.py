"""Scheduled tasks: the tools of agents, and the turn that runs one (`task_turn`)."""
