"""Restrict a process by means of the kernel, with `ctypes` and no dependencies.

The package imports only the standard library, so that a process can use it before anything else is
loaded. No function raises for a missing kernel feature: each returns what could not be done.
"""
