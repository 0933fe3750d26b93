"""Self-tests of the daemon: crash trials, attacks and simulated histories."""
