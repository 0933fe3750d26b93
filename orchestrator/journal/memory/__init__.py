"""What agents remember: facts, profile, playbooks, and the searches over them and over messages."""
