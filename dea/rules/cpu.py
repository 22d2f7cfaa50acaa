"""Rules over CPU profiles."""

from dea.rules.draft import Rule

RULES: tuple[Rule, ...] = ()
