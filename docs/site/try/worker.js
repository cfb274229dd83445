// Python in a thread of its own, so that the page stays usable while a program runs.
//
//     {id: 1, call: ["check", "a.njpy", text]}           ->  {id: 1, result: {findings: [...], ...}}
//     {id: 2, call: ["run", "a.njpy", text, replies]}    ->  {id: 2, result: {steps: [...], ...}}

const here = (name) => new URL(name, import.meta.url).href;

async function load(name) {
  const response = await fetch(here(name));
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  return response;
}

async function start() {
  const report = (text) => postMessage({ status: text });
  report("Loading Python (17 MB, once) …");
  const { wheels } = await (await load("pyodide/vendored.json")).json();
  const { loadPyodide } = await import(here("pyodide/pyodide.mjs"));
  const archives = [...wheels.map((wheel) => `pyodide/${wheel}`), "njc.zip"];
  const [python, ...contents] = await Promise.all([
    loadPyodide({ indexURL: here("pyodide/") }),
    ...archives.map(async (name) => (await load(name)).arrayBuffer()),
  ]);
  report("Loading the compiler …");
  const sitePackages = python.runPython("import site; site.getsitepackages()[0]");
  contents.forEach((content) => python.unpackArchive(content, "zip", { extractDir: sitePackages }));
  const program = await (await load("try_program.py")).text();
  python.FS.writeFile(`${sitePackages}/try_program.py`, program);
  return python.runPython("import try_program; try_program.call");
}

const started = start();
started.then(
  () => postMessage({ status: "" }),
  (error) => postMessage({ failed: String(error) }),
);

onmessage = async ({ data: { id, call } }) => {
  const python = await started;
  postMessage({ started: id });
  try {
    postMessage({ id, result: JSON.parse(await python.callPromising(...call.slice(0, 3), JSON.stringify(call[3] ?? []))) });
  } catch (error) {
    postMessage({ id, error: String(error) });
  }
};
