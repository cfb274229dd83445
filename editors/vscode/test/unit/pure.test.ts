import assert from "node:assert/strict";
import { test } from "node:test";
import { expand, listCommands, Surroundings } from "../../src/command";
import { findCompiledLine } from "../../src/lineMap";
import { findPrompts } from "../../src/prompts";

const bare: Surroundings = {
  configured: [],
  activePython: undefined,
  defaultPython: undefined,
  folder: "/ws",
  platform: "linux",
  home: "/h",
  exists: () => true,
};
const words = (changes: Partial<Surroundings>) =>
  listCommands({ ...bare, ...changes }).map((command) => [command.program, ...command.args].join(" "));

test("the setting is the only command where it is given", () => {
  assert.deepEqual(words({ configured: ["uv", "run", "njc"] }), ["uv run njc"]);
  assert.deepEqual(words({ configured: ["${workspaceFolder}/.venv/bin/njc"] }), ["/ws/.venv/bin/njc"]);
  assert.deepEqual(words({ configured: [".venv/bin/njc"] }), ["/ws/.venv/bin/njc"]);
  assert.deepEqual(words({ configured: ["~/bin/njc"] }), ["/h/bin/njc"]);
});

test("the chosen Python comes first, and the PATH last", () => {
  const found = words({ activePython: "/py/python", defaultPython: "venv2/bin/python" });
  assert.deepEqual(found, [
    "/py/python -m njc",
    "/ws/venv2/bin/python -m njc",
    "/ws/.venv/bin/python -m njc",
    "/ws/venv/bin/python -m njc",
    "njc",
  ]);
  assert.deepEqual(words({ exists: () => false, activePython: "/gone" }), ["njc"]);
  assert.deepEqual(words({ activePython: "/ws/.venv/bin/python", exists: (file) => file.includes(".venv") }), [
    "/ws/.venv/bin/python -m njc",
    "njc",
  ]);
  assert.deepEqual(words({ folder: undefined, defaultPython: "python" }), ["njc"]);
  assert.match(words({ platform: "win32" })[0] ?? "", /Scripts.python\.exe -m njc$/);
});

test("a word without a separator is not a path", () => {
  assert.equal(expand("njc", bare), "njc");
});

test("a line of the source leads to its line in the compiled file", () => {
  const segments = [
    { compiled: 0, source: 0, isAuthors: false },
    { compiled: 2, source: 0, isAuthors: true },
    { compiled: 7, source: 5, isAuthors: false },
    { compiled: 9, source: 6, isAuthors: true },
  ];
  assert.deepEqual([0, 4, 5, 6, 9].map((line) => findCompiledLine(segments, line)), [2, 6, 7, 9, 12]);
  assert.equal(findCompiledLine([], 3), 0);
});

const shown = (text: string) => {
  const { markers, references } = findPrompts(text);
  return [markers.length, ...references.map(({ start, end }) => text.slice(start, end))];
};

test("prompts are found in Python texts", () => {
  const text = 'def f():\n    """natural(model="m")\n    <a.b> <:c> <:d: list[int]> <<e> <if> <g>x</g>\n    """\n';
  assert.deepEqual(shown(text), [1, "<a.b>", "<:c>", "<:d: list[int]>"]);
  assert.deepEqual(shown("f'''prompt\r\n<ä>\r\n'''\r\nx = '<no>'\r\n"), [1, "<ä>"]);
  assert.deepEqual(shown('x = """natural\n<a>\n"""\n"""natural language <b>"""\n'), [0]);
  assert.deepEqual(shown('"""natural\n<a> never closed\n'), [0]);
  assert.deepEqual(shown('"""natural\n<:a: the sum\n"""\n'), [1]);
});
