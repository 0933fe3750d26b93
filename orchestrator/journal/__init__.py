"""The journal: one SQLite file with one writer, and all of the daemon's queries.

`db` opens the file and runs transactions. In the other packages each module is one aggregate: its
functions take an open transaction (`Database`) and typed values, and `Store.transact` runs
them.
"""
