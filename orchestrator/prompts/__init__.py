"""Prompt definitions in the supervisor: loaded, checked, and bound to the tools of agents.

The format is `thinker.formats.prompts`; rendering happens in the worker (`thinker.prompt`).
"""
