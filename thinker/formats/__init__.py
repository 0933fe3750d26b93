"""File formats that the supervisor and the workers read: SKILL.md, prompts, YAML, images."""
