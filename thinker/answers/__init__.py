"""Answers that must have a form: parsed as they stream in, and judged by a contract."""
