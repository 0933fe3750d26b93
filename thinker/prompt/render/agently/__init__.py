"""The layouts and the output model of Agently 4.0.7, for prompts written for it."""
