"""The bundled extensions: a folder for each, found by entry point."""
