"""``orchestrator doctor``: look at everything that can be wrong, and change nothing.

`jail_probes` tries each jail in a process of its own, `examination` looks at the home, the machine
and the configuration, `findings` are what both return.
"""
