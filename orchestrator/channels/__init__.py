"""The chat systems that we speak: one adapter each."""
