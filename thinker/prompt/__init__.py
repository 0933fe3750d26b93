"""Prompt assembly: base prompt, dynamic layers, and the recipes that order them."""
