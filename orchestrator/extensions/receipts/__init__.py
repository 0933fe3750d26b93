"""Receipts: an answer that claims an effect is compared with what was called and came of it.

In the worker a false claim goes back to the model once; in the supervisor, what is still not shown
when the turn ends is marked below the answer and kept as the turn's receipt.
"""
