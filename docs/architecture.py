"""Figures of the house, read from the syntax trees of a checkout: `python docs/architecture.py [CHECKOUT ...]`.

Prints one column per checkout as a table; `concepts/structure.md` holds it for the version before the rooms and today.
"""

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "contact_mpc"
MANY_PARAMETERS = 9  # as ruff's PLR0913 is set


class House:
    """The files of a package with what they import from each other."""

    def __init__(self, root: Path) -> None:
        self.root, self.package = root, root / PACKAGE
        self.trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(self.package.rglob("*.py"))}
        self.imports = {path: set(self._imported(path)) - {path} for path in self.trees}

    def _imported(self, path: Path) -> Iterator[Path]:
        for node in ast.walk(self.trees[path]):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                if name.startswith(f"{PACKAGE}.") and (file := self._file(name)) is not None:
                    yield file

    def _file(self, module: str) -> Path | None:
        parts = module.split(".")
        for length in range(len(parts), 1, -1):
            path = self.root.joinpath(*parts[:length])
            for file in (path.with_suffix(".py"), path / "__init__.py"):
                if file in self.trees:
                    return file
        return None

    def top(self, path: Path) -> str:
        """Return the folder of the package that a file lies in."""
        parts = path.relative_to(self.package).parts
        return parts[0] if len(parts) > 1 else ""

    def circles(self) -> int:
        """Return the number of groups of files that import themselves through each other."""
        left = {path: set(found) for path, found in self.imports.items()}
        reach = {path: self._reachable(path) for path in left}
        groups = {
            frozenset(other for other in reach[path] if path in reach[other]) for path in left if path in reach[path]
        }
        return len(groups)

    def _reachable(self, path: Path) -> set[Path]:
        seen: set[Path] = set()
        waiting = list(self.imports[path])
        while waiting:
            file = waiting.pop()
            if file not in seen:
                seen.add(file)
                waiting += self.imports[file]
        return seen

    def back_arrows(self) -> int:
        """Return the number of pairs of folders that import each other."""
        arrows = {(self.top(a), self.top(b)) for a, found in self.imports.items() for b in found}
        return sum(1 for a, b in arrows if a < b and (b, a) in arrows and a)

    def most_files(self) -> tuple[int, str]:
        """Return the largest number of files side by side, and in which folder."""
        count = Counter(path.parent for path in self.trees if path.name != "__init__.py")
        folder, most = max(count.items(), key=lambda item: item[1])
        return most, str(folder.relative_to(self.package))

    def parameters(self) -> list[int]:
        """Return the number of parameters of every function that is no method's self."""
        return [_count(node) for _, node in self._functions()]

    def long_lists(self) -> list[tuple[Path, ast.FunctionDef]]:
        """Return the functions with more than `MANY_PARAMETERS` parameters, and where they stand."""
        return [(path, node) for path, node in self._functions() if _count(node) > MANY_PARAMETERS]

    def _functions(self) -> Iterator[tuple[Path, ast.FunctionDef]]:
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    yield path, node

    def constants(self, folder: str) -> int:
        """Return the number of statements at module level in a folder that give names to bare numbers."""
        return sum(1 for _ in self._statements(folder))

    def numbers(self, folder: str) -> list[str]:
        """Return the names that these statements give."""
        names = [name for node in self._statements(folder) for name in ast.walk(node) if isinstance(name, ast.Name)]
        return [name.id for name in names if isinstance(name.ctx, ast.Store)]

    def _statements(self, folder: str) -> Iterator[ast.stmt]:
        trees = (tree for path, tree in self.trees.items() if self.top(path) == folder)
        return (node for tree in trees for node in tree.body if _names_a_number(node))

    def without_twin(self, folder: str) -> tuple[int, int]:
        """Return the files of a folder without a test of their own name, and all its files."""
        tests = {path.stem.removeprefix("test_") for path in (self.root / "test").rglob("test_*.py")}
        files = [path for path in self.trees if self.top(path) == folder and path.name != "__init__.py"]
        return sum(1 for path in files if path.stem not in tests), len(files)


def _count(node: ast.FunctionDef) -> int:
    names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(1 for name in names if name.arg not in ("self", "cls"))


def _names_a_number(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
    return any(_is_number(value) for value in values)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def figures(root: Path) -> dict[str, str]:
    """Return the figures of a checkout by what they count."""
    house = House(root)
    parameters, (files, folder) = house.parameters(), house.most_files()
    missing, modules = house.without_twin("planning")
    return {
        "Python files": str(len(house.trees)),
        "circles of files": str(house.circles()),
        "pairs of folders that import each other": str(house.back_arrows()),
        "most files side by side": f"{files} (`{folder}`)",
        "longest list of parameters": str(max(parameters)),
        f"functions with more than {MANY_PARAMETERS} parameters": str(sum(n > MANY_PARAMETERS for n in parameters)),
        "numeric constants at module level in `planning`": str(house.constants("planning")),
        "files of `planning` without a test of their name": f"{missing} of {modules}",
    }


def main() -> None:
    """Print the table."""
    roots = [Path(name).resolve() for name in sys.argv[1:]] or [Path(__file__).resolve().parents[1]]
    columns = [figures(root) for root in roots]
    lines = [f"| | {' | '.join(root.name for root in roots)} |", "|-" * (len(roots) + 1) + "|"]
    lines += [f"| {key} | {' | '.join(column[key] for column in columns)} |" for key in columns[0]]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
