"""Advice: warnings about what works but is hardly meant, in agents.json and other files of a home.

The core refuses what cannot work. Nothing here changes what it loads.
"""
