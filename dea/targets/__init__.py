"""From what a user typed to the process that is meant."""
