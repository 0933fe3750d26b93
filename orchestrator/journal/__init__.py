"""The journal: one SQLite file, one writer, one file here per aggregate.

Functions take an open transaction (`apsw.Connection`) and typed values; `Store.transact` runs
them. No other package holds a query.
"""
