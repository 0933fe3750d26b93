"""Child processes: launch, watch, restart and stop workers.

`launch` turns an agent's definition into a launch spec and writes its prompt file, `supervisor`
keeps one slot per agent, `restarts` decides when a worker that ended may start again, `worker`
speaks to one worker, `zygotes` forks workers from a warm process, and `reaper` ends orphaned
descendants.
"""
