"""Tool calls: the one path from a planned call to its recorded result.

`authorization` applies policy and approvals, and runs calls whose effect is in the journal;
`executor` runs the others (T4, effect, T5); `approvals` decides whether a call needs an approval,
asks the operator for it and records the decision.
"""
