"""`orchestrator selftest crash`: the real daemon, killed at every boundary, in a world of fakes.

The fakes live in the process of the test, survive the daemon's deaths and write down what the
outside world saw; the 22 invariants of reference/reliability.md §4.8 are checked over that ledger
and the journal.
"""
