"""The journal in PostgreSQL, to outlive the daemon's machine.

Only this package imports psycopg, from the extra ``postgresql``.
"""
