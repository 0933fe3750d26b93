"""The commands of the extension for rewind and fork."""
