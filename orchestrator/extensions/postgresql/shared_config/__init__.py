"""The configuration that all machines share: pushing it, and updating a home to it."""
