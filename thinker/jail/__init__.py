"""Restrict a process by the kernel's own means, with `ctypes` and no dependencies.

It imports the standard library alone, so that a process may use it before anything else is loaded.
Nothing here raises for a missing kernel feature: each step returns what could not be done.
"""
