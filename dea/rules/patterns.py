"""What kind of work a hot line does, as far as its text, its calls and what it calls into tell."""

from collections.abc import Iterable
from dataclasses import dataclass

from dea.contracts.data import FrameHot

# Methods that send one statement to a database, and those that fetch what it gave.
_STATEMENTS = {"execute", "executescript", "query", "find_one", "scalar", "fetchrow", "fetchval"}
_FETCHES = {"fetchone", "fetchall", "fetchmany"}
_FEEDS = _STATEMENTS | _FETCHES | {"all", "filter", "scalars", "find"}
_DATABASES = (
    *("sqlite3", "sqlalchemy", "django.db", "psycopg", "psycopg2", "pymysql", "MySQLdb", "asyncpg"),
    *("pymongo", "peewee", "mysql.connector", "cx_Oracle", "oracledb", "aiosqlite", "tortoise"),
)
# Of a compiled pattern, which has no Python frame of its own.
_REGEX_CALLS = {"match", "search", "fullmatch", "findall", "finditer", "sub", "subn"}
_KINDS: tuple[tuple[str, tuple[str, ...], set[str]], ...] = (
    (
        "serialization",
        (
            "json",
            "pickle",
            "yaml",
            "simplejson",
            "marshmallow",
            "pydantic",
            "xml",
            "csv",
            "plistlib",
        ),
        {"dumps", "loads", "safe_load", "model_validate", "model_dump"},
    ),
    ("copying", ("copy",), {"deepcopy"}),
    (
        "compression",
        ("zlib", "gzip", "bz2", "lzma", "zipfile", "tarfile", "zstandard"),
        {"compress", "decompress"},
    ),
    (
        "hashing",
        ("hashlib", "hmac", "bcrypt", "passlib"),
        {"sha256", "sha512", "sha1", "md5", "pbkdf2_hmac", "scrypt", "hashpw"},
    ),
    ("date parsing", ("_strptime", "dateutil"), {"strptime"}),
    ("logging", ("logging", "loguru"), set()),
    ("sorting", (), {"sort", "sorted"}),
)
_MOST = 0.5  # of a function's samples: what decides what it does


@dataclass(frozen=True)
class Pattern:
    """`phrase` goes on after the place; `how_to` says what would confirm or cure it."""

    name: str
    phrase: str
    how_to: str = ""


def repeated_query(hot: FrameHot) -> Pattern | None:
    """One database statement for each item of a loop."""
    if hot.loop is None or not _queries(hot):
        return None
    fed_by_query = bool(_last_parts(name for name in hot.loop_fed_by if "." in name) & _FEEDS)
    name = "N+1 queries" if fed_by_query else "one query per item"
    reason = " over what another statement gave" if fed_by_query else ""
    return Pattern(
        name,
        f"which runs a database statement for each item of the loop at {hot.loop}{reason} ({name})",
        "Fetch everything for the loop with one statement (a join or IN (...)) before it; "
        "trace_syscalls or the database's log shows how many statements run.",
    )


def kind_of_work(hot: FrameHot) -> Pattern | None:
    """What the place mainly does, when that has a name."""
    return repeated_query(hot) or _collection(hot) or _regex(hot) or _named(hot)


def _queries(hot: FrameHot) -> bool:
    calls = _last_parts([*hot.calls, hot.frame.function])  # or it wraps the driver's method itself
    if calls & _STATEMENTS:
        return True
    if calls & _FETCHES and _last_parts(hot.loop_calls) & _STATEMENTS:
        return True
    return any(_is_in(name, _DATABASES) for name in hot.below)


def _collection(hot: FrameHot) -> Pattern | None:
    if "gc.collect" not in hot.calls:
        return None
    return Pattern("garbage collection", "which calls gc.collect()", "Leave collecting to Python.")


def _regex(hot: FrameHot) -> Pattern | None:
    through_module = any(_is_in(name, ("re", "regex")) for name in hot.below)
    compiled = _last_parts(hot.calls) & _REGEX_CALLS and hot.self_share >= _MOST * hot.share
    if not (through_module or compiled):
        return None
    return Pattern(
        "regular expression",
        "probably in matching a regular expression",
        "Backtracking is possible: look for nested or adjacent quantifiers in the pattern, such as "
        "(a+)+ or .*.*, and for long inputs that do not match.",
    )


def _named(hot: FrameHot) -> Pattern | None:
    calls = _last_parts(hot.calls)
    for name, modules, functions in _KINDS:
        below = hot.below[:2] if hot.share - hot.self_share >= _MOST * hot.share else []
        if calls & functions or any(_is_in(text, modules) for text in below):
            return Pattern(name, f"in {name}")
    return None


def _last_parts(names: Iterable[str]) -> set[str]:
    return {name.rsplit(".", 1)[-1] for name in names}


def _is_in(name: str, modules: tuple[str, ...]) -> bool:
    return name.startswith(tuple(f"{module}." for module in modules))
