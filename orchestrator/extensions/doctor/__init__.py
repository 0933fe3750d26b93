"""``orchestrator doctor``: check everything that can go wrong, and change nothing.

`jail_probes` tries each jail in a process of its own, `examination` looks at the home, the machine
and the configuration, and asks the other extensions. `doctor_part` does that in a running daemon.
"""
