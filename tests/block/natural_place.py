"""A folder with a program, which `njc run` runs there in processes of its own, with a clean environment."""

from __future__ import annotations

import os
import subprocess
import textwrap
from pathlib import Path

from openai_server import KEY, OpenAIServer, calls
from processes import run_python

FOREIGN = ("NJC_", "OPENAI_", "ANTHROPIC_", "PYTHON", "HTTP_PROXY", "http_proxy")
DOUBLE = calls(("run", '{"code": "y = x * 2", "done": true}'))


class Place:
    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        (folder / "prog.njpy").write_text(textwrap.dedent(program))
        (folder / ".git").mkdir(exist_ok=True)

    def run(self, **environ: str) -> subprocess.CompletedProcess[str]:
        clean = {name: text for name, text in os.environ.items() if not name.startswith(FOREIGN)}
        clean["NJC_POLICY"] = "guarded"  # without a policy, a program warns
        return run_python(
            "-m", "njc", "run", "prog.njpy", cwd=self.folder, env=clean | environ, timeout=60
        )

    def prints(self, *lines: int, **environ: str) -> None:
        """Run the program, which must print this and nothing else."""
        result = self.run(**environ)
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.split() == [str(line) for line in lines]


def at(server: OpenAIServer, **more: str) -> dict[str, str]:
    """Return the settings of programs that ask this server, and further ones."""
    return {"NJC_BASE_URL": server.base_url, "NJC_MODEL": "gpt-4.1", "NJC_API_KEY": KEY} | more
