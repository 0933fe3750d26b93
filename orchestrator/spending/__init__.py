"""What agents may spend: budgets, the anomaly detector, and the pauses that follow.

`budgets` is pure; `spending_guard` reserves before a model call, settles after it and pauses
agents; `metered_calls` is the way to a model for work that belongs to no turn.
"""
