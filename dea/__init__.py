"""DEA finds out why a running process is slow, leaking, hung, crashing or in the way."""

__version__ = "0.1.0"
