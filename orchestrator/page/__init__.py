"""The web page: a process that shows the journal, and asks the supervisor for every change.

It starts when a browser connects and ends when it is not looked at. It reads the journal by
connections that cannot write; what a session may do is decided in the supervisor.
"""
