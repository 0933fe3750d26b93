"""Install, inspect and remove a systemd service that runs the daemon."""
