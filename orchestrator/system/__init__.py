"""What the operating system does for the daemon: the lock of the home, and systemd."""
