"""The daemon's side of the page: its process, the rights of roles, and its requests."""
