"""What can be observed about processes of one language runtime."""
