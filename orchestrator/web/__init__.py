"""Serve HTTP for the page and the HTTP API: application, errors, limits."""
