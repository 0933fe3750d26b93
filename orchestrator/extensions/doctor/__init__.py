"""``orchestrator doctor``: check everything that can go wrong, and change nothing.

`jail_probes` tries each jail in a process of its own, `examination` checks the home, the machine
and the configuration, and collects the other extensions' findings. `doctor_part` does that in a
running daemon.
"""
