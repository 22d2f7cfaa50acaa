"""What can go wrong, each with what to do about it. Caught in the CLI's main and the tool wrapper."""

from typing import cast


class DeaError(Exception):
    """Something the user can act on: `str(error)` says what happened, `remedy` what to do next."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}. {self.remedy}" if self.remedy else message


class ArgumentError(DeaError):
    """The call's arguments do not fit the tool's schema."""


class TargetError(DeaError):
    """The target does not exist, is not what it was, or cannot be examined."""


class TracedError(TargetError):
    """Somebody else traces the target, so what needs ptrace cannot look; the rest can."""


class SessionError(DeaError):
    """A session, run or artifact is unknown or unreadable."""


class StoreError(DeaError):
    """The session could not be written: disk full, no permission."""


class BackendError(DeaError):
    """A backend could not observe, or nothing it saw was usable."""


class ConsentError(DeaError):
    """What was asked for needs the user's consent."""


def root_of(error: Exception) -> Exception:
    """What went wrong inside the groups that tasks run side by side make of it."""
    while isinstance(error, ExceptionGroup):
        leaves = cast("ExceptionGroup[Exception]", error).exceptions
        error = next((leaf for leaf in leaves if isinstance(leaf, DeaError)), leaves[0])
    return error
