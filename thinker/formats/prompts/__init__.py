"""Prompt definitions as files and as values: what the supervisor checks and the worker renders.

`definition` is the whole of one; its `prompt` is one of the `sources` (of which `slots`, with their
output `grammar`, are one), its tools are in `tooluse`. `files` reads it, `registry` checks what it
names, `bundle` is how it travels to a worker, with the `environments` that set its variables;
`subprompt` is what it is as a tool of another one, `rendering` asks to see it by itself.
"""
