"""What an agent does with skills: read one, with its files, and keep playbooks of its own.

The list of skills in each prompt is the core's, as are the schedules of skills.
"""
