"""The command `njc`, from the shell to the exit code.

njc build src -o out     ->  njc.commands.build  ->  0 success
njc check src            ->  njc.commands.check  ->  1 findings
njc bild                                                   ->  2 wrong usage, configuration or file
njc run prog.njpy        ->  njc.commands.run      ->  the program's code, or 3: the model
"""

from __future__ import annotations

import errno
import os
import sys

from njc import __version__


def main() -> None:
    """Run this process's command line, and exit."""
    # If the streams are closed, a print to standard output must fail, not be lost silently.
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        if sys.argv[1:] == ["--version"]:
            print(f"njc {__version__}", flush=True)
            return
        from njc.commands import njc

        njc.main(prog_name="njc")
    except KeyboardInterrupt:  # during the imports
        sys.exit(130)
    except OSError as error:
        if not _is_output_broken() and (error.filename or error.errno not in _FAILURES):
            raise
        use = "use the working directory" if error.errno == errno.ENOENT else "write the output"
        sys.stderr.write(f"error: cannot {use}: {error.strerror}\n")
        sys.exit(2)


_FAILURES = (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EDQUOT, errno.ENOENT)
"""Write errors after which a stream may drop its buffer unnoticed; the last is from `os.getcwd`."""


def _is_output_broken() -> bool:
    """Return whether standard output is broken; if so, discard its rest so that Python can exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False
