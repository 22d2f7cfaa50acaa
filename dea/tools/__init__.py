"""What an agent or a person calls, one file per tool: the flow, written top to bottom."""
