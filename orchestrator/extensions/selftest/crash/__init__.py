"""`orchestrator selftest crash`: kill the real daemon at every boundary, among fake servers.

A boundary is a failpoint (`orchestrator.failpoints`). The fakes run in the process of the test,
survive the daemon's deaths and record in a ledger what the outside world saw. The invariants of
the journal (see the manual's page on it) are checked over the ledger and the journal.
"""
