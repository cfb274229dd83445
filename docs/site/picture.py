"""Write the picture of the first page: `njc trace --html` on a run of the program beside it.

    python docs/site/picture.py          docs/site/assets/trace.png

examples/shopping.njpy gets its recorded replies, of a model of 1.5 billion parameters; Chromium
shows the page.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "servers"))

from chromium import Chromium  # noqa: E402

WIDTH, HEIGHT = 1180, 790
CLICK = "document.querySelectorAll('.row')[1].click()"
"""It opens the second run."""


def main() -> None:
    """Write the page and the picture."""
    with tempfile.TemporaryDirectory() as folder:
        trace, page = Path(folder, "shopping.jsonl"), Path(folder, "shopping.html")
        recording = ROOT / "examples" / "recordings" / "shopping.jsonl"
        settings = {"NJC_RECORD": f"none:{recording}", "NJC_TRACE": str(trace)}
        for arguments in (
            ["run", ROOT / "examples" / "shopping.njpy"],
            ["trace", trace, "--html", page],
        ):
            command = [sys.executable, "-m", "njc", *arguments]
            subprocess.run(command, env=os.environ | settings, check=True, timeout=120)
        with Chromium(WIDTH, HEIGHT) as browser:
            browser.open(page)
            for click in (CLICK, "0"):
                time.sleep(1)  # the page unpacks its data, and draws in frames
                browser.evaluate(click)
            browser.screenshot(ROOT / "docs" / "site" / "assets" / "trace.png")


if __name__ == "__main__":
    main()
