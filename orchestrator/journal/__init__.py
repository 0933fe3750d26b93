"""The journal: one SQLite file, one writer, and no query anywhere else.

`db` opens it and runs transactions. Each other folder holds aggregates, one file each: functions
take an open transaction (`apsw.Connection`) and typed values, and `Store.transact` runs them.
"""
