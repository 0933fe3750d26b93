"""Approvals that stand: an operator answers once for all calls alike, until an end."""
