"""Count the lines of the product and the discouraged wording of its prose, and compare with the limits.

    python .ci/source_limits.py            print the counts; exit 1 if one is above its limit
    python .ci/source_limits.py --lower    also write lower counts as the new limits

The limits are in source_limits.json. A limit may only fall; a commit that raises one by hand gives the reason.
Lines are those of all modules, blank ones and comments included; the benchmark's programs are not counted.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_name("source_limits.json")
PACKAGES = {"njc": ROOT / "njc", "njrt": ROOT / "runtime" / "njrt", "spsbench": ROOT / "spsbench"}

WORDING: Mapping[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "where, for if": r"\bwhere (there|it|they|one|no|none|a|an|the)\b",
        "what is, for a name": r"\bwhat (is|are|was|were|it|they|has|have|an?|the)\b",
        "those of, that of": r"\b(those|that) (of|that|which|who)\b",
        "in which, whose": r"\b(in|of|by|for|from|to|at|with) which\b|\bwhose\b",
        "stands, for is": r"\bstands?\b",
        "says, tells": r"\b(says?|tells?|told|said)\b",
        "carry out, go on, begin": r"\b(carry|carries|carried) out\b|\b(go|goes|went) on\b|\bbeg[ai]n",
        "is none": r"\b(is|are) none\b",
        "is no, for is not a": r"(?<!there )\b(is|are|was|were) no (?!longer|more)\w",
        "of its own": r"\bof (its|their|your|our|his|one's) own\b",
    }.items()
}
NOUN_PHRASE = re.compile(r"(The|Whether|What|How|A|An|Those|All|Where)\b")


def find_modules(folder: Path) -> Iterator[Path]:
    """Yield the modules of a package, without the benchmark's programs."""
    for path in sorted(folder.rglob("*.py")):
        if "programs" not in path.relative_to(folder).parts[:1]:
            yield path


def count_lines() -> Counter[str]:
    """Count the lines of each folder of the first level, of each package, and of all."""
    counts: Counter[str] = Counter()
    for package, folder in PACKAGES.items():
        for path in find_modules(folder):
            lines = len(path.read_bytes().splitlines())
            inside = path.relative_to(folder).parts[:-1][:1]
            counts["/".join((package, *inside)) if inside else f"{package}/*.py"] += lines
            counts[package] += lines
            counts["product"] += lines
    return counts


def count_wording() -> Counter[str]:
    """Count each pattern in docstrings, in other texts of the product, and in pages."""
    counts: Counter[str] = Counter()
    for folder in PACKAGES.values():
        for path in find_modules(folder):
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            docstrings = {id(text): owner for text, owner in _find_docstrings(tree)}
            patterns = set(_find_raw_strings(tree, text.splitlines()))
            for node in ast.walk(tree):
                if (
                    isinstance(node, ast.Constant)
                    and isinstance(node.value, str)
                    and id(node) not in patterns
                ):
                    kind = "docstrings" if id(node) in docstrings else "messages"
                    _count_patterns(counts, kind, node.value)
                    owner = docstrings.get(id(node))
                    if isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
                        counts["docstrings: noun phrase of a function"] += bool(
                            NOUN_PHRASE.match(node.value) and not _is_property(owner)
                        )
    for page in [
        ROOT / "README.md",
        ROOT / "SECURITY.md",
        *sorted((ROOT / "docs").glob("**/*.md")),
    ]:
        _count_patterns(counts, "pages", page.read_text(encoding="utf-8"))
    return counts


def _find_docstrings(tree: ast.AST) -> Iterator[tuple[ast.Constant, ast.AST]]:
    """Yield each string that is a statement, with the module, class or function around it."""
    for owner in ast.walk(tree):
        if isinstance(owner, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in owner.body:
                match statement:
                    case ast.Expr(ast.Constant(str()) as text):
                        yield text, owner


def _find_raw_strings(tree: ast.AST, lines: Sequence[str]) -> Iterator[int]:
    """Yield the ids of the strings with an `r` in front: regular expressions, which are no prose."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            start = lines[node.lineno - 1].encode()[node.col_offset :][:2].lower()
            if b"r" in start.partition(b'"')[0]:
                yield from (id(part) for part in ast.walk(node))


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function is read like an attribute, and so documented by a noun (PEP 257)."""
    names = (ast.unparse(decorator) for decorator in function.decorator_list)
    return any(name.endswith("property") for name in names)


def _count_patterns(counts: Counter[str], kind: str, text: str) -> None:
    for name, pattern in WORDING.items():
        counts[f"{kind}: {name}"] += len(pattern.findall(text))


def main() -> None:
    """Print the counts and their limits."""
    found = {"lines": count_lines(), "wording": count_wording()}
    limits = json.loads(LIMITS.read_text()) if LIMITS.exists() else {"lines": {}, "wording": {}}
    above = []
    for kind, counts in found.items():
        print(f"{kind:40} {'now':>7} {'limit':>7}")
        for name in sorted(counts):
            limit = limits[kind].get(name, 0)
            print(f"  {name:38} {counts[name]:7,} {limit:7,}")
            if counts[name] > limit:
                above.append(f"{name}: {counts[name]:,} is above the limit of {limit:,}")
    if "--lower" in sys.argv[1:]:
        lowered = {
            kind: {
                name: min(count, limits[kind].get(name, count))
                for name, count in sorted(counts.items())
            }
            for kind, counts in found.items()
        }
        LIMITS.write_text(json.dumps(lowered, indent=1) + "\n")
    if above:
        sys.exit("\n".join(["", *above, "Merge or delete as much as you add."]))


if __name__ == "__main__":
    main()
