"""Set up keys, a model and a bot, trying each at once, and get a first answer."""
