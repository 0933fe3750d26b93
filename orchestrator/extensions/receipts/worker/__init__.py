"""The judge of answers in the workers: a false claim goes back to the model once."""
