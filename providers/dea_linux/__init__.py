"""What can be observed on Linux about any process."""
