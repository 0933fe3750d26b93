"""The proving ground: crash trials, attacks and simulated histories of the daemon itself."""
