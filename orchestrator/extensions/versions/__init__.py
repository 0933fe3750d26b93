"""The safety net under every change of what people configure: checks, versions and undo."""
