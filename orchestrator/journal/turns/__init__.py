"""The records of a turn: inbox, turn, steps, outbox, and everything that belongs to one of them."""
