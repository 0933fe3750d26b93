"""Advice: warnings about likely mistakes in agents.json and other files of a home.

The core refuses what cannot work. Advice never changes what is loaded.
"""
