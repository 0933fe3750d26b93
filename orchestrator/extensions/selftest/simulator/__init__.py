"""Run the daemon's own parts on a virtual clock, and find histories that break its promises.

A seed decides everything: messages, faults of the platform, of tools, workers and the disk, and
crashes. A failure is repeated by its seed and shrunk to the events that it needs.
"""
