"""Commands about skills and scheduled tasks."""
