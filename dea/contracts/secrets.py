"""Replaces secrets in text that comes from a target by labelled placeholders."""

import re

_NAME = r"[\w.-]*(?:passw(?:or)?d|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|authorization|cookie|session[_-]?key)[\w.-]*"
_VALUE = r"(?:\"[^\"]*\"|'[^']*'|[^\s,;&\"']+)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|$)", re.DOTALL),
        "<private-key>",
    ),
    (
        re.compile(
            r"\b(authorization\s*[:=]\s*)(?:(bearer|basic|digest|token)\s+)?[^\s'\"]+",
            re.IGNORECASE,
        ),
        r"\1<authorization>",
    ),
    (re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), r"\1<token>"),
    (re.compile(r"\b((?:set-)?cookie\s*:\s*)[^\r\n'\"]+", re.IGNORECASE), r"\1<cookie>"),
    (
        re.compile(r"(\b[a-z][a-z0-9+.-]*://[^/\s:@'\"]*:)[^@/\s'\"]+(?=@)", re.IGNORECASE),
        r"\1<password>",
    ),
    (re.compile(rf"(?i)(--?{_NAME})(\s+|=){_VALUE}"), r"\1\2<secret>"),
    (re.compile(rf"(?i)(\b{_NAME}[\"']?\s*[=:]\s*){_VALUE}"), r"\1<secret>"),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"), "<jwt>"),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"), "<aws-key>"),
    (re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})\b"), "<github-token>"),
    (
        re.compile(r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{20,}\b"),
        "<api-key>",
    ),
    (re.compile(r"\bxox[abposr]-[A-Za-z0-9-]{10,}"), "<slack-token>"),
)


def hide_secrets(text: str) -> str:
    """The text with tokens, passwords, keys, authorization headers and cookies replaced."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
