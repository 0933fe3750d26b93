"""The configuration that all machines share: what is pushed, and bringing a home to it."""
