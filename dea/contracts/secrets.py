"""Replaces secrets in text that comes from a target by labelled placeholders."""

import re
import shlex
from collections.abc import Sequence

from dea.contracts.scrub import one_line

# A name that ends in one of these has a secret as its value: `DB_PASSWORD=`, `--api-key `, `token:`.
# It must be the end: `token_bucket.py:12`, `--tokenizer fast` and `max_tokens=5` are no secrets.
_SECRET_NAME = (
    r"(?:passw(?:or)?d|passphrase|(?<![a-z])pass|(?:require|store|key|ssh)pass|masterauth|pwd"
    r"|secret|token|credentials?|(?:api|access|secret|private|signing|encryption|session|auth)[_-]?key"
    r"|(?<![a-z])authorization|(?<![a-z])cookie|phpsessid|jsessionid|sessionid)(?:[_-]?(?:value|base|\d{1,3}))?"
)
# Up to a blank or quote; a separator or closing bracket ends it only when something new begins there.
_BARE = (
    r"(?:[^\s\"'\\&,;)\]}]|[&,;](?!\s|$|[\w.-]+[=:])|[)\]}](?!\s|$|[,;:)\]}\"'])|\\(?!\\*[\"']))+"
)
_VALUE = rf"(?P<quote>\\*[\"'])(?P<quoted>.*?)(?:(?P=quote)|$)|(?P<bare>{_BARE})"
_ASSIGNED = re.compile(
    rf"(?P<head>(?P<name>{_SECRET_NAME})(?:\\*[\"'])?\]?[ \t]*(?:=>|:=|=(?!=)|:(?![:/]))[ \t]*)(?:{_VALUE})",
    re.IGNORECASE | re.MULTILINE,
)
_OPTION = re.compile(
    rf"(?P<head>(?<![\w-])--?[\w.-]{{0,40}}?(?P<name>{_SECRET_NAME})[\"']?[ \t]+)(?!-)(?:{_VALUE})",
    re.IGNORECASE | re.MULTILINE,
)
_OPTION_NAME = re.compile(rf"--?[\w.-]{{0,40}}?{_SECRET_NAME}", re.IGNORECASE)
_ASSIGNMENT = re.compile(rf"([\w.-]{{0,80}}?{_SECRET_NAME}=).+", re.IGNORECASE | re.DOTALL)
# Words of code and of data that stand where a value could: a type, nothing, a call, a placeholder.
_HARMLESS = re.compile(
    r"(?:str|bytes|string|int|float|bool|object|any|none|null|nil|true|false|undefined)"
    r"|[a-z_][\w.]*[(\[].*|<[a-z-]+>",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"<[a-z-]+>")
_SMALL_NUMBER = re.compile(r"\d{1,5}(?:\.\d+)?%?")

_SHAPES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL),
        "<private-key>",
    ),
    (
        re.compile(
            r"(?<![a-z])(authorization\\*[\"']?\s*[:=]\s*\\*[\"']?)"
            r"(?!<[a-z-]+>)(?:(?:digest|aws4-\S+)\s[^\r\n]+|(?:[a-z][\w-]*\s+)?[^\s\"'\\]+)",
            re.IGNORECASE,
        ),
        r"\1<authorization>",
    ),
    (re.compile(r"\b(bearer\s+)[a-z0-9._~+/=-]{8,}", re.IGNORECASE), r"\1<token>"),
    (
        re.compile(
            r"\b((?:set-)?cookie\s*:\s*)(?!<[a-z-]+>)[^\r\n\"'=]{1,200}=[^\r\n\"']+", re.IGNORECASE
        ),
        r"\1<cookie>",
    ),
    (
        re.compile(
            r"(\b[a-z][a-z0-9+.-]{0,30}://[^/\s:@\"']{0,200}:)[^@/\s\"']{1,300}(?=@)", re.IGNORECASE
        ),
        r"\1<password>",
    ),
    (re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://)[\w-]{20,300}(?=@)", re.IGNORECASE), r"\1<token>"),
    (
        re.compile(r"([?&](?:key|sig|signature|auth|code)=)[^&\s\"'<]{8,}", re.IGNORECASE),
        r"\1<secret>",
    ),
    (
        re.compile(
            r"((?<!\S)(?:-u|-U|--user|--proxy-user)[ =]['\"]?[^\s:'\"]{1,200}:)(?!\d+\b)[^\s'\"]+"
        ),
        r"\1<password>",
    ),
    (re.compile(r"(\b(?:mysql|mariadb)\w{0,20}\s(?:[^|;]{0,300}?\s)?-p)(?!<)\S+"), r"\1<password>"),
    (re.compile(r"(\bsshpass\s+-p\s*)(?!<)\S+"), r"\1<password>"),
    (re.compile(r"(\bredis-cli\s(?:[^|;]{0,300}?\s)?-a\s*)(?!<)\S+"), r"\1<password>"),
    (re.compile(r"(-pass(?:in|out)?\s+pass:)(?!<)\S+"), r"\1<password>"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), "<jwt>"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), "<aws-key>"),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})\b"), "<github-token>"),
    (re.compile(r"\bglpat-[\w-]{20,}"), "<gitlab-token>"),
    (re.compile(r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[\w-]{40,}|hf_[A-Za-z0-9]{30,})\b"), "<token>"),
    (re.compile(r"\bAIza[\w-]{35}"), "<google-key>"),
    (re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}"), "<slack-token>"),
    (re.compile(r"(?<![\w-])[spr]k[-_](?=[\w-]{0,100}?\d)[\w-]{20,}"), "<api-key>"),
)


def hide_secrets(text: str) -> str:
    """The text with tokens, passwords, keys, authorization headers and cookies replaced."""
    for pattern, replacement in _SHAPES:
        text = pattern.sub(replacement, text)
    return _ASSIGNED.sub(_hide_value, _OPTION.sub(_hide_value, text))


def target_text(text: str, cap: int = 200) -> str:
    """Text from a target, fit for evidence: one printable line of at most `cap`, without secrets."""
    return one_line(hide_secrets(text), cap)


def hide_in_argv(argv: Sequence[str]) -> str:
    """A command line as one text, secrets replaced, arguments quoted where they hold blanks."""
    shown: list[str] = []
    for before, argument in zip(["", *argv], argv, strict=False):
        if _OPTION_NAME.fullmatch(before) and not argument.startswith("-"):
            shown.append("<secret>")
        elif assigned := _ASSIGNMENT.fullmatch(argument):  # all of it is the value, blanks too
            shown.append(f"{assigned[1]}<secret>")
        else:
            hidden = hide_secrets(argument)
            shown.append(_quoted(hidden) if hidden == argument or " " in hidden else hidden)
    return hide_secrets(" ".join(shown))


def _quoted(argument: str) -> str:
    """As a shell needs it; in double quotes where that reads better."""
    if "'" in argument and not re.search(r'["$`!\\]', argument):
        return f'"{argument}"'
    return shlex.quote(argument)


def _hide_value(match: re.Match[str]) -> str:
    """The match with its value replaced, its quotes kept; the match itself when that is no secret."""
    bare = match["bare"]
    value = match["quoted"] if bare is None else bare
    if not value or _is_harmless(match["head"], match["name"], value, quoted=bare is None):
        return match[0]
    if bare is not None:
        return f"{match['head']}<secret>"
    closed = len(match[0]) > len(match["head"]) + len(match["quote"]) + len(value)
    return f"{match['head']}{match['quote']}<secret>{match['quote'] if closed else ''}"


def _is_harmless(head: str, name: str, value: str, *, quoted: bool) -> bool:
    if quoted:
        return _PLACEHOLDER.fullmatch(value) is not None
    if head == "PASS: " or (name == "PWD" and value.startswith("/")):
        return True  # a test's verdict, the working directory
    if not name.lower().startswith("pass") and _SMALL_NUMBER.fullmatch(value):
        return True  # "get_token: 45 %": a figure, too short for a token
    return _HARMLESS.fullmatch(value) is not None
