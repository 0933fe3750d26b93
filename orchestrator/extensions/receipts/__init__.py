"""Receipts: what an answer says was done, held against the calls that were made.

`judging` finds the sentences that report an effect and compares them with the calls. It is pure and
knows nothing of the daemon.
"""
