"""Rules to come."""

from dea.rules.draft import Rule

RULES: tuple[Rule, ...] = ()
