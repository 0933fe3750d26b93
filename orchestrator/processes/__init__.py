"""Child processes: how a worker is launched, watched, restarted and ended.

`launch` turns an agent's definition into a launch spec, `supervisor` keeps one slot per agent by
the rules of `restarts`, `worker` speaks to one worker, `zygotes` forks workers from a warm process,
and `reaper` ends orphaned descendants.
"""
