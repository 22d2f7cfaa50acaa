"""The two ways in which a look can fail."""


class TornError(Exception):
    """Memory was not what the layout says: unmapped, half written, or wrong offsets."""


class CannotLookError(Exception):
    """There is no way to read this target; the message says why."""


class TooLargeError(CannotLookError):
    """Copying the heap would hold the target for too long."""
