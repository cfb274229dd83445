"""Write the picture of the first page: the page of `njc trace --html` on a trace of examples/mailbox.njpy.

    python docs/site/picture.py          docs/site/assets/trace.png

The trace is of runs on a model of 1.5 billion parameters; Chromium shows the page.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "servers"))

from chromium import Chromium  # noqa: E402

WIDTH, HEIGHT = 1180, 860
CLICK = "document.querySelectorAll('.row')[1].click()"
"""It opens the second run."""


def main() -> None:
    """Write the page and the picture."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "mailbox.html"
        trace = ROOT / "examples" / "traces" / "mailbox.jsonl"
        command = [sys.executable, "-m", "njc", "trace", trace, "--html", page]
        subprocess.run(command, check=True, timeout=120)
        with Chromium(WIDTH, HEIGHT) as browser:
            browser.open(page)
            for click in (CLICK, "0"):
                time.sleep(1)  # the page unpacks its data, and draws in frames
                browser.evaluate(click)
            browser.screenshot(ROOT / "docs" / "site" / "assets" / "trace.png")


if __name__ == "__main__":
    main()
