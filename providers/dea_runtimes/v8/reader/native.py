"""What code is called that is not JavaScript: V8's builtins, its collector, node's own C++."""

import re

BUILTIN = "Builtins_"
_COLLECTOR = (
    "Heap14CollectGarbage",
    "Heap24PerformGarbageCollection",
    "Scavenge",
    "MarkCompact",
    "MarkingVisitor",
    "IncrementalMarking",
    "Sweeper",
)
COLLECTING = ("Heap14CollectGarbage", "Heap24PerformGarbageCollection")
# Builtins that stand between functions or carry one out; they say nothing of their own.
_GLUE = re.compile(
    r"(?:Handler|Trampoline|Entry|CEntry\w*|Adaptor|BuiltinExit\w*|WithFeedback|_Wide|_ExtraWide)$|"
    r"^(?:Call|Construct|Interpreter|Baseline|Compile|JSEntry|JSConstruct|RunMicrotasks|CEntry|"
    r"Resume|Handle|Load|Store|Keyed|RecordWrite|InstantiateAsmJs|FastNew|Array\w*Constructor|"
    r"AsyncFunction|PromiseFulfill|Generator|Await|TailCall|Deopt)"
)
_LENGTH = re.compile(r"\d+")


def builtin_name(symbol: str) -> str:
    """`RegExpPrototypeExec`; empty for glue."""
    name = symbol.removeprefix(BUILTIN)
    return "" if name == symbol or _GLUE.search(name) else name


def is_collector(symbol: str) -> bool:
    return any(part in symbol for part in _COLLECTOR)


def is_regexp(symbol: str) -> bool:
    return "Irregexp" in symbol or "RegExpExecInternal" in symbol or "RegExpInterpreter" in symbol


def plain_name(symbol: str) -> str:
    """`internal::JsonStringifier::Serialize` of a mangled name, without types; empty if unsure."""
    if not symbol.startswith("_Z"):
        return symbol
    rest = re.sub(r"^_ZL?(?:N[rVK]*)?(?:St)?", "", symbol)
    parts: list[str] = []
    while match := _LENGTH.match(rest):
        end = match.end() + int(match[0])
        parts.append(rest[match.end() : end])
        rest = rest[end:].removeprefix("L")  # of a static function
    told = [part for part in parts if not part.startswith("_GLOBAL_")]
    return "::".join(told[-3:])
