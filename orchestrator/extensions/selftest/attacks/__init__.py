"""Attacks on a real daemon: an obedient model, a hostile MCP server, probes inside each jail.

`attack_world` runs the daemon and its surroundings; each other module holds the attacks of an area.
A defence holds if the attack reached nothing.
"""
