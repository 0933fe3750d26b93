"""Slack: Socket Mode in, the Web API out and for what was missed, by slack-sdk."""
