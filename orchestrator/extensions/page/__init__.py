"""The web page: a process that shows the journal, and asks the supervisor for every change.

It starts when a browser connects and ends when it is idle. It reads the journal over connections
that cannot write; the supervisor decides what a session may do.
"""
