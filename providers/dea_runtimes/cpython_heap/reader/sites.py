"""Guesses from the source which lines let a container grow. Nothing of this was observed."""

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TypedDict

from dea_runtimes.cpython_heap.reader.places import is_own
from dea_runtimes.cpython_heap.reader.source import Sources
from dea_runtimes.cpython_heap.reader.steps import Step

# fmt: off
_ADDERS = frozenset((
    "append", "appendleft", "add", "extend", "extendleft", "insert", "setdefault", "update",
    "put", "put_nowait", "push", "heappush", "insort", "insort_left", "insort_right", "write",
    "submit",
))
# fmt: on
_MADE = (ast.List, ast.Dict, ast.Set, ast.Call)  # a default of these is made once and shared
_NAMES = (ast.Name, ast.Attribute)
_MOST_SITES = 3
_MOST_FILES = 40


class Site(TypedDict):
    function: str
    file: str
    line: int
    text: str


Matcher = Callable[[ast.expr], bool]


class SiteFinder:
    """Looks through the source files of the user's own modules."""

    def __init__(self, sources: Sources, files: Iterable[str]) -> None:
        self._sources, self._files = sources, list(files)[:_MOST_FILES]

    def additions(self, steps: list[Step]) -> list[Site]:
        """Lines that add to what the last named step names, else to what the one before does."""
        for step in reversed(steps):
            found = self._for_step(step)
            if found:
                return found[:_MOST_SITES]
        return []

    def constructions(self, class_name: str) -> list[Site]:
        """Lines that make an instance of a class."""
        name = class_name.rpartition(".")[2]
        found: dict[tuple[str, int], Site] = {}
        for file in self._mentioning(name):
            for function, node in self._nodes(file):
                if isinstance(node, ast.Call) and _called(node) == name:
                    found[file, node.lineno] = self._site(function, file, node.lineno)
        return list(found.values())[:_MOST_SITES]

    def _for_step(self, step: Step) -> list[Site]:
        name, file, line = step["name"], step["file"], step["line"]
        match step["role"]:
            case "global":
                return self._anywhere(
                    name, file, lambda e: _is_name(e, name) or _is_member(e, name)
                )
            case "attribute" | "class attribute":
                return self._anywhere(name, file, lambda e: _is_member(e, name))
            case "local" | "closure":
                return self._within(file, line, [name])
            case "default":
                return self._within(file, line, self._mutable_defaults(file, line))
            case "cache" if is_own(file):
                return [self._site(step["of"], file, line)]
            case _:
                return []

    def _anywhere(self, name: str, file: str, matches: Matcher) -> list[Site]:
        """In the file where the name is at home, else in the user's others."""
        if is_own(file) and (found := list(self._additions(file, matches))):
            return found
        others = (other for other in self._mentioning(name) if other != file)
        return [site for other in others for site in self._additions(other, matches)]

    def _within(self, file: str, line: int, names: list[str]) -> list[Site]:
        """In the outermost function or class around a line."""
        tree = self._sources.tree(file) if is_own(file) else None
        if tree is None:
            return []
        around = [n for n in tree.body if _first_line(n) <= line <= (n.end_lineno or 0)]
        found = self._additions(file, lambda e: any(_is_name(e, name) for name in names))
        lines = {n for top in around for n in range(top.lineno, (top.end_lineno or 0) + 1)}
        return [site for site in found if site["line"] in lines]

    def _mutable_defaults(self, file: str, line: int) -> list[str]:
        """Parameters of the function at a line whose default is made once and shared."""
        for _, node in self._nodes(file):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if _first_line(node) == line:
                return [n for n, value in _defaults(node.args) if isinstance(value, _MADE)]
        return []

    def _additions(self, file: str, matches: Matcher) -> Iterator[Site]:
        seen: set[int] = set()
        for function, node in self._nodes(file):
            if node.lineno not in seen and any(_leads_to(e, matches) for e in _grown(node)):
                seen.add(node.lineno)
                yield self._site(function, file, node.lineno)

    def _nodes(self, file: str) -> Iterable[tuple[str, ast.stmt | ast.expr]]:
        tree = self._sources.tree(file)
        return _walk(tree, "") if tree else ()

    def _mentioning(self, name: str) -> list[str]:
        return [file for file in self._files if self._sources.mentions(file, name)]

    def _site(self, function: str, file: str, line: int) -> Site:
        text = self._sources.line(file, line)
        return Site(function=function or "<module>", file=file, line=line, text=text)


def _walk(node: ast.AST, inside: str) -> Iterator[tuple[str, ast.stmt | ast.expr]]:
    """Every statement and expression with the qualified name of the function around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.expr):
            yield inside, child
        name = inside
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{child.name}" if inside else child.name
        yield from _walk(child, name)


def _grown(node: ast.stmt | ast.expr) -> Iterator[ast.expr]:
    """What a statement or call may add to."""
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=value), args=arguments):
            if attr in _ADDERS:
                yield value
                yield from arguments[:1] if attr.startswith(("heap", "insort")) else ()
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _ADDERS:
            yield first
        case ast.Assign(targets=targets, value=value):
            yield from (target.value for target in targets if isinstance(target, ast.Subscript))
            used = {ast.unparse(part) for part in ast.walk(value) if isinstance(part, _NAMES)}
            yield from (t for t in targets if isinstance(t, _NAMES) and ast.unparse(t) in used)
        case ast.AugAssign(target=target):
            yield target.value if isinstance(target, ast.Subscript) else target
        case _:
            return


def _leads_to(expression: ast.expr, matches: Matcher) -> bool:
    """`CACHE[key]` and `CACHE.setdefault(key, [])` lead to CACHE."""
    for _ in range(10):
        if matches(expression):
            return True
        match expression:
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner)):
                expression = inner
            case _:
                return False
    return False


def _is_name(expression: ast.expr, name: str) -> bool:
    return isinstance(expression, ast.Name) and expression.id == name


def _is_member(expression: ast.expr, name: str) -> bool:
    return isinstance(expression, ast.Attribute) and expression.attr == name


def _first_line(node: ast.stmt) -> int:
    """Where a definition begins for the interpreter: at its first decorator."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """Parameters with a default, and the default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    for parameter, value in zip(reversed(positional), reversed(arguments.defaults), strict=False):
        yield parameter.arg, value
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield parameter.arg, default


def _called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
