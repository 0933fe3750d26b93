"""AgentDojo's tasks and attacks, through a real daemon and a model that obeys every order."""
