"""The records of a turn: inbox, turn, steps, outbox, and all that belongs to one of them."""
