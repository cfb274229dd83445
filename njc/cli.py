"""The command `njc`, from the shell to the exit code.

    njc build src -o out     ->  njc.commands.build     ->  0 done
    njc check src            ->  njc.commands.check     ->  1 findings
    njc bild                                            ->  2 wrong usage or configuration
    njc run prog.njpy        ->  njc.commands.run       ->  the program's own, or 3: model, budget, recording

Completion in the shell: `eval "$(_NJC_COMPLETE=bash_source njc)"`, or zsh_source, fish_source.
"""

from __future__ import annotations

import sys

from njc import __version__


def main() -> None:
    """Run the command line of this process, and exit."""
    if sys.argv[1:] == ["--version"]:
        print(f"njc {__version__}")
        return
    from njc.commands import njc

    njc.main(prog_name="njc")
