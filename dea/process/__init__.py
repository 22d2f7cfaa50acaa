"""The one place that starts and stops programs."""
