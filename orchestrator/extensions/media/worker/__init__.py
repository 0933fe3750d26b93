"""The models for sound and pictures, in the workers of agents that have such models."""
