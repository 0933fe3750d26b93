"""The journal in PostgreSQL, for those who want it to outlive the machine of the daemon.

Nothing outside of this package imports psycopg, which the extra ``cluster`` brings.
"""
