"""Copies of a home: written while its daemon runs, verified, and made a home again."""
