"""Built-in tools, which the supervisor runs itself.

`host_tool` defines what a built-in tool is; `catalog` lists all of them.
"""
