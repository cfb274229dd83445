"""Write the files of the page "Try it": its scripts, the examples, the compiler, and Pyodide if it was vendored.

    try_page.py                npm, PyPI  ──vendor_pyodide──>   build/pyodide/{pyodide.mjs,...,pydantic-....whl}
    write_try_files(folder)               ──>   site/try/{page.js,worker.js,examples.json,njc.zip,pyodide/}

Nothing is loaded from elsewhere when the page is used: Pyodide (https://pyodide.org) is a part of the built site.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PYODIDE = ROOT / "build" / "pyodide"
VENDORED = PYODIDE / "vendored.json"  # written last

NPM_PACKAGE = "pyodide@314.0.7"
WHEELS = ("click==8.5.1", "packaging==26.3", "pydantic==2.14.3")
"""What njc and njrt import; pip adds what that imports, for the Python of Pyodide."""
PLATFORM = ("--platform=pyemscripten_2026_0_wasm32", "--python-version=314", "--abi=cp314")

EXAMPLES = {
    "mailbox": "Mailbox: data, code and a jump",
    "order": "Order: a typed value or an exception",
    "citations": "Citations: questions and changes in a loop",
    "rules": "Rules: a function made by a block",
    "findings": "Findings: mistakes that the compiler reports",
}
"""The examples, with their titles; those that are not in examples/ lie beside the scripts of the page."""


def vendor_pyodide() -> None:
    """Download Pyodide from npm's registry and the wheels from PyPI, unless they are there."""
    wanted = json.dumps([NPM_PACKAGE, *WHEELS])
    if VENDORED.exists() and json.loads(VENDORED.read_text())["wanted"] == wanted:
        return
    shutil.rmtree(PYODIDE, ignore_errors=True)
    PYODIDE.mkdir(parents=True)
    pack = ["npm", "pack", "--silent", "--pack-destination", PYODIDE, NPM_PACKAGE]
    subprocess.run(pack, check=True, timeout=300, stdout=subprocess.DEVNULL)
    (archive,) = PYODIDE.glob("*.tgz")
    with tarfile.open(archive) as opened:
        for member in opened.getmembers():
            member.name = Path(member.name).name  # "package/pyodide.mjs"
            opened.extract(member, PYODIDE, filter="data")
    archive.unlink()
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", PYODIDE]
    download += ["--only-binary=:all:", "--implementation=cp", *PLATFORM, *WHEELS]
    subprocess.run(download, check=True, timeout=300)
    wheels = sorted(path.name for path in PYODIDE.glob("*.whl"))
    VENDORED.write_text(json.dumps({"wanted": wanted, "wheels": wheels}))


def write_try_files(folder: Path) -> None:
    """Write all files beside the page."""
    shutil.copytree(HERE / "try", folder, ignore=shutil.ignore_patterns("*.njpy", "page.html"))
    shutil.copyfile(HERE / "try_program.py", folder / "try_program.py")
    (folder / "examples.json").write_text(json.dumps(read_examples()), encoding="utf-8")
    with zipfile.ZipFile(folder / "njc.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for source, package in ((ROOT, "njc"), (ROOT / "runtime", "njrt")):
            for path in sorted((source / package).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(source))
    shutil.copytree(PYODIDE, folder / "pyodide")


def read_examples() -> list[dict[str, object]]:
    """Return the examples: title, text, and the recorded replies with the message that each answers."""
    examples = []
    for name, title in EXAMPLES.items():
        folders = (ROOT / "examples", HERE / "try")
        file = next(path for path in (each / f"{name}.njpy" for each in folders) if path.exists())
        recording = ROOT / "examples" / "recordings" / f"{name}.jsonl"
        lines = recording.read_text(encoding="utf-8").splitlines() if recording.exists() else []
        recorded = [
            {
                "shown": "\n".join(each["shown"][-1]["user"]),
                "reply": "\n".join(each["reply"]["text"]),
            }
            for each in map(json.loads, lines[1:])
        ]
        made_by = json.loads(lines[0])["note"].split(": ")[1].split(",")[0] if lines else ""
        text = file.read_text(encoding="utf-8")
        example = {"name": name, "title": title, "text": text, "made_by": made_by}
        examples.append({**example, "recorded": recorded})
    return examples


if __name__ == "__main__":
    vendor_pyodide()
