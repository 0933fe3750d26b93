"""Show, check and compare prompts, layer by layer."""
