"""File formats that both processes read: SKILL.md, prompt definitions, YAML, images."""
