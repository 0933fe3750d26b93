"""Limits on what agents spend: budgets, the anomaly detector, and the pauses that follow.

`budgets` computes them; `spending_guard` reserves before a model call, settles after it and pauses
agents; `metered_calls` calls a model for work outside of turns.
"""
