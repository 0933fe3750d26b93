"""Print or delete all stored data of a chat or an agent."""
