"""Structured answers: `parse` finds the JSON, `contract` checks it, `verdict` is the outcome."""
