"""The commands of the extension for versions."""
