"""Set up keys, a model and a bot, trying each immediately, and get a first answer."""
