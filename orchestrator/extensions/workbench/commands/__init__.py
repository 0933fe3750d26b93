"""Commands of the workbench."""
