"""Backups of a home: written while its daemon runs, verified, and restored."""
