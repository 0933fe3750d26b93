"""Built-in tools, which the supervisor runs itself.

`host_tool` has the kinds of built-in tools; `catalog` lists all tools.
"""
