"""The worker process, which builds prompts, calls the model, and keeps no state of its own.

`server` speaks to the supervisor. For each turn `agent` runs `preparation` (base prompt, layers,
history, tools) and then `loop` (call the model, commit its response, run its tool calls, repeat).
`extension` is what extensions may add to it. `startup` and `zygote` start the process.
"""
