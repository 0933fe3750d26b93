"""Operating system services for the daemon: the lock of its home, and systemd."""
