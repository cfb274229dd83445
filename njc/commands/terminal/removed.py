"""Commands and flags of njc 0.2 that have left, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

import click

COMMANDS: Mapping[str, str] = {
    "annotate": "write the types that `njc check --hints` proposes",
    "cache": "use `njc store cache` and `njc store clear`",
    "canary": "compare code with the live block by `njc compare`",
    "clean": "use `njc build --clean`",
    "mcp remove": "delete the module of the server",
    "mcp serve": "serve functions by the MCP package, as docs/reference/mcp.md shows",
    "mcp update": "run the `njc mcp add` of the server again",
    "migrate": "follow docs/migrating.md, which has a table of the changes",
    "migrate-model": "record again with NJC_RECORD=all:FILE, and measure with `njc eval --model`",
    "replay": "replay recordings by `pytest --njc-record=none`, or with NJC_RECORD=none:FILE",
    "tune": "measure forms with `njc eval` and the option in [tool.njc]",
    "types": "check the compiled files; `njc show --line` gives the source of a line",
    "usage": "use `njc store usage`",
    "where": "use `njc show --line FILE:LINE`",
}

_SETTING = "set it in [tool.njc] of pyproject.toml"
_SANDBOX = "run the program in bubblewrap or docker, as docs/reference/contained.md shows"
_VENDOR = "rows are called one by one, `-j N` at a time"
_PRINTED = "the table is printed; `njc trace` shows the requests and replies of NJC_TRACE=FILE"
_BUILT = "write the code by `njc build`, which has this flag"
FLAGS: Mapping[str, str] = {
    **dict.fromkeys(("--exclude", "--include", "--required-version", "--warnings", "-W"), _SETTING),
    **dict.fromkeys(("--env", "--read", "--sandbox", "--work"), _SANDBOX),
    **dict.fromkeys(("--max-cpu", "--max-memory", "--max-processes"), _SANDBOX),
    **dict.fromkeys(("--poll", "--rows", "--vendor-batch"), _VENDOR),
    "--address": "use --scheduler",
    "--authority": "decide about effects in `njrt.using(intercept=...)`",
    "--estimate": "call some rows, and limit the cost by --max-usd",
    "--learn": "repair code by a test: `njc static --repair --test COMMAND`",
    **dict.fromkeys(("--expensive", "--slow"), "the table has the seconds and the cost of runs"),
    "--jumps": "use `njc trace --search`, with `continued` or another outcome",
    "--surprises": "compare the texts of two runs, as `njc trace FILE RUN` prints them",
    "--trace": "`njc trace FILE` shows a trace",
    "--watch": "watch the sources by another program: `watchfiles 'njc build src' src`",
    "--unlearned": "learned code is used as other code; delete its entry in njc.lock",
    **dict.fromkeys(("compare --html", "compare --json", "eval --html"), _PRINTED),
    "eval --fresh": "delete the folder .njc_cache/eval beside the file of cases",
    **dict.fromkeys(("eval --out", "eval -o"), _PRINTED),
    "compare --fresh": "a comparison makes all runs anew",
    "compare --gate": "use `njc eval --gate`",
    **dict.fromkeys(("compare --attempts", "compare --jobs"), _BUILT),
    **dict.fromkeys(("lock --attempts", "lock --jobs"), _BUILT),
    "lock --update": "delete entries in njc.lock and build again",
    "lock --why": "`njc lock` says what changed; what the code cost is in njc.lock",
    **dict.fromkeys(("usage --budget", "usage --of"), "select from the output of `--json`"),
    **dict.fromkeys(
        ("cache --folder", "clear --folder"), "set XDG_CACHE_HOME to the folder above it"
    ),
    "usage --forget": "accounts of past periods stay, a line each, and are shown by --json",
    "usage --all": "use --json, which has the accounts of past periods too",
    "cache --output-format": "the line has the number of replies and their size",
    **dict.fromkeys(("skill --force", "skill --into"), "redirect the output into a file"),
    "add --timeout": "set the attribute `server.timeout` of the module",
    "check --stdin-filename": "check a file, or let an editor ask `njc lsp`",
    "build --diff": "build, and read `git diff` of the compiled files",
    "build --stubs": "make stubs of the compiled files by mypy's stubgen",
    "debug --plain": "leave it out; commands are read line by line",
    "trace --block": "use --search FILE or FILE:LINE",
    "trace --run": "name the run behind the file",
    "doctor --output-format": "read its lines, one for each check, or the exit code",
    "eval --accept": "write the result into the case when you have read it",
    "eval --against": "run `njc eval` in a `git worktree` of the other version too",
}
"""By flag, or by command and flag if other commands have the flag."""


def find_removed_flag(name: str, command: str = "") -> str | None:
    """Describe a flag that has left, in one line; None for any other text."""
    advice = FLAGS.get(f"{command} {name}") or FLAGS.get(name)
    return f"{name} was removed in njc 0.3: {advice}" if advice else None


def refuse_removed_flag(word: object) -> None:
    """Raise UsageError if a flag that has left stands where a program's name is expected."""
    context = click.get_current_context()
    if removed := find_removed_flag(str(word), context.info_name or ""):
        raise click.UsageError(removed, context)
