"""What is spent, what it will come to, and what would make it less."""
