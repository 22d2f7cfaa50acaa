"""Numbers as a person would say them, in summaries and findings."""

_STEPS = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))


def in_unit(value: float, unit: str) -> str:
    """`4.1 MiB` for bytes, `12` for a count."""
    return in_bytes(value) if unit == "bytes" else in_figures(value)


def in_bytes(value: float) -> str:
    """`4.1 MiB`; below a KiB `512 bytes`."""
    for size, name in _STEPS:
        if abs(value) >= size:
            return f"{in_figures(value / size)} {name}"
    return f"{value:.0f} bytes"


def in_figures(value: float) -> str:
    """Three figures at most, but whole numbers in full: `0.25`, `4.1`, `19.8`, `1234`."""
    if value == int(value) or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def in_time(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h`, `2 days`."""
    for size, name in ((2 * 86400, "days"), (2 * 3600, "h"), (2 * 60, "min")):
        if seconds >= size:
            return f"{seconds / (size / 2):.0f} {name}"
    return f"{seconds:.0f} s"
