"""The records of a turn: inbox, turn, steps, outbox and their details."""
