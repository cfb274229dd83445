// The page "Try it": an editor, what the compiler makes of the program, and a run in which the reader is the model.
//
//     text + replies  --worker-->  findings, compiled file, steps, next request  --show-->  the page
//
// Texts are only ever put into the page as text. The state of the page is `text` and `replies`, which is what a link carries.

import { colorPython, markFindings } from "./colors.js";

const RUN_SECONDS = 10;
const byId = (name) => document.getElementById(`try-${name}`);
const source = byId("source");

let examples = [];
let example = null;
let replies = [];
let notice = "";
let isOpening = false;
let request = null;
let latest = 0; // the number of the latest change; answers to older ones are not shown

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// ── Python ───────────────────────────────────────────────────────────────────────────────────────

let worker;
let waiting = new Map();
let numbers = 0;
let deadline = 0;

function startWorker() {
  worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  waiting = new Map();
  worker.onmessage = ({ data }) => {
    if (data.status !== undefined) {
      showStatus(data.status);
    } else if (data.failed !== undefined) {
      showStatus(`Python could not be loaded (${data.failed}). In a copy of the site, \`python docs/site/try_page.py\` adds it.`);
    } else if (data.started !== undefined) {
      clearTimeout(deadline);
      deadline = setTimeout(stopWorker, RUN_SECONDS * 1000);
    } else {
      clearTimeout(deadline);
      const { resolve, reject } = waiting.get(data.id);
      waiting.delete(data.id);
      data.error === undefined ? resolve(data.result) : reject(new Error(data.error));
    }
  };
}

function stopWorker() {
  worker.terminate();
  const stopped = [...waiting.values()];
  startWorker();
  const message = `The program ran for more than ${RUN_SECONDS} seconds and was stopped.`;
  stopped.forEach(({ reject }) => reject(new Error(message)));
}

function askPython(...call) {
  numbers += 1;
  worker.postMessage({ id: numbers, call });
  return new Promise((resolve, reject) => waiting.set(numbers, { resolve, reject }));
}

// ── The program ──────────────────────────────────────────────────────────────────────────────────

const fileName = () => `${example ? example.name : "program"}.njpy`;

async function update() {
  latest += 1;
  const number = latest;
  drawSource([]);
  document.body.dataset.try = "working";
  try {
    const checked = await askPython("check", fileName(), source.value);
    if (number !== latest) return;
    showFindings(checked.findings);
    showCompiled(checked);
    const run = await askPython("run", fileName(), source.value, replies);
    if (number !== latest) return;
    showRun(run);
  } catch (error) {
    if (number === latest) showFailure(error.message);
  }
  if (number === latest) document.body.dataset.try = "done";
}

let typing = 0;
function scheduleUpdate() {
  drawSource([]);
  clearTimeout(typing);
  typing = setTimeout(() => {
    replies = [];
    update();
  }, 300);
}

function drawSource(findings) {
  const text = source.value;
  byId("colors").replaceChildren(colorPython(text), "\n");
  byId("marks").replaceChildren(markFindings(text, findings), "\n");
  byId("numbers").textContent = text.split("\n").map((_, line) => line + 1).join("\n");
}

function showFindings(findings) {
  drawSource(findings);
  const rows = findings.map((finding) => {
    const place = element("button", { type: "button", textContent: `${finding.line}:${finding.column}` });
    place.onclick = () => goTo(finding);
    const code = element("a", {
      href: `reference/diagnostics.html#${finding.anchor}`,
      textContent: finding.code,
    });
    const hint = finding.hint ? element("small", { textContent: finding.hint }) : "";
    const severity = element("b", { textContent: finding.severity });
    return element("li", { className: finding.severity }, place, " ", severity, " ", code, ` ${finding.message} `, hint);
  });
  byId("findings").replaceChildren(...(rows.length ? rows : [element("li", { textContent: "No findings" })]));
}

function goTo({ line, column }) {
  const lines = source.value.split("\n");
  const offset = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, column - 1);
  source.focus();
  source.setSelectionRange(offset, offset);
}

function scrollToLine(box, line) {
  box.scrollTop = line * parseFloat(getComputedStyle(box).lineHeight);
}

function showCompiled({ compiled, blocks }) {
  const none = "The file has errors, and is not compiled.";
  byId("compiled").replaceChildren(compiled === null ? none : colorPython(compiled));
  if (isOpening && compiled !== null) scrollToLine(byId("compiled"), compiled.split("_nj.run(")[0].split("\n").length - 2);
  isOpening = false;
  const rows = blocks.split("\n").map((line) =>
    line.startsWith("  ")
      ? element("div", {}, element("span", { textContent: line.slice(2, 11) }), line.slice(11))
      : element("div", { className: "try-head", textContent: line }));
  byId("blocks").replaceChildren(...(compiled === null ? [none] : rows));
}

// ── The run ──────────────────────────────────────────────────────────────────────────────────────

function showRun(run) {
  request = run.request;
  byId("steps").replaceChildren(...(run.steps.length ? run.steps.map(showStep) : ["Nothing yet"]));
  byId("printed").textContent = [run.printed, run.error].filter(Boolean).join("\n") || "Nothing yet";
  const ended = run.error ? "The program ended by an exception." : "The program has ended.";
  byId("place").textContent = notice + (request
    ? `The block at ${request.place} asks for reply ${request.turn}:`
    : run.runs ? ended : "The program does not run, because it has errors.");
  notice = "";
  showPrompt();
  showRecorded();
  byId("reply").value = "";
  byId("reply").disabled = byId("send").disabled = byId("ask").disabled = !request;
  byId("back").disabled = byId("restart").disabled = !replies.length;
}

function showStep(step) {
  const changes = Object.entries(step.changes).map(([name, value]) =>
    element("div", {}, element("b", { textContent: name }), value === null ? " is no longer bound" : `: ${value}`));
  const kind = { refusal: "refused", failure: "failed", answer: "answered" }[step.kind];
  return element("li", { className: step.kind },
    element("div", { className: "try-head", textContent: step.place }),
    element("pre", { textContent: step.reply }),
    element("div", { className: "try-result", textContent: kind ? `${kind}: ${step.result}` : step.result }),
    element("div", { className: "try-changes" }, ...changes),
    ...(step.printed ? [element("pre", { textContent: step.printed })] : []));
}

function showPrompt() {
  const messages = request ? [{ role: "system", content: request.system }, ...request.messages] : [];
  byId("prompt").replaceChildren(...messages.flatMap(({ role, content }) => [
    element("div", { className: "try-head", textContent: role }),
    element("pre", { textContent: content }),
  ]));
  if (!request) byId("prompt").textContent = "No block asks a model.";
  const heads = byId("prompt").querySelectorAll(".try-head");
  if (request) byId("prompt").scrollTop = heads[heads.length - 1].offsetTop - heads[0].offsetTop;
}

function showRecorded() {
  const shown = request?.messages.at(-1).content;
  const first = shown?.split("\n---\n")[0];
  const recorded = (example?.recorded ?? []).filter((each) => each.shown.split("\n---\n")[0] === first);
  recorded.sort((one, other) => (other.shown === shown) - (one.shown === shown));
  const texts = [...new Set(recorded.map(({ reply }) => reply))];
  const exact = recorded[0]?.shown === shown;
  const buttons = texts.slice(0, 4).map((reply, index) => {
    const label = reply.replace(/```(python)?/g, "").replace(/\s+/g, " ").trim();
    const button = element("button", { type: "button", className: "try-choice", textContent: label });
    button.classList.toggle("try-exact", exact && index === 0);
    button.onclick = () => { byId("reply").value = reply; byId("reply").focus(); };
    return button;
  });
  const head = exact ? `Recorded from ${example.made_by}, the first for this prompt: ` : "Recorded for other values: ";
  byId("recorded").replaceChildren(...(buttons.length ? [head, ...buttons] : []));
}

function showFailure(message) {
  byId("place").textContent = message;
  byId("send").disabled = true;
  if (!replies.length) return;
  notice = `${message} The reply was taken back. `;
  setReplies(replies.slice(0, -1));
}

function setReplies(changed) {
  replies = changed;
  update();
}

// ── Links, a server of the reader, and what is clicked ───────────────────────────────────────────

async function pass(bytes, stream) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function writeLink() {
  const state = JSON.stringify({ name: example?.name, text: source.value, replies });
  const bytes = await pass(new TextEncoder().encode(state), new CompressionStream("deflate-raw"));
  const text = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `${location.href.split("#")[0]}#${text}`;
}

async function readLink() {
  const text = location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/");
  const bytes = await pass(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)), new DecompressionStream("deflate-raw"));
  return JSON.parse(new TextDecoder().decode(bytes));
}

async function askServer() {
  byId("asked").textContent = "Asking …";
  const messages = [{ role: "system", content: request.system }, ...request.messages];
  const body = { messages, temperature: 0, ...(byId("model").value ? { model: byId("model").value } : {}) };
  if (request.schema) {
    body.response_format = { type: "json_schema", json_schema: { name: "reply", schema: request.schema } };
  }
  try {
    const response = await fetch(`${byId("server").value.replace(/\/+$/, "")}/chat/completions`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${(await response.text()).slice(0, 300)}`);
    byId("reply").value = (await response.json()).choices[0].message.content;
    byId("asked").textContent = "The reply is in the field above.";
  } catch (error) {
    byId("asked").textContent = `The server gave no reply: ${error.message}`;
  }
}

function showStatus(text) {
  byId("status").textContent = text;
}

function open(state) {
  example = examples.find(({ name }) => name === state.name) ?? null;
  byId("example").value = example?.name ?? "";
  source.value = state.text;
  isOpening = true;
  setReplies(state.replies ?? []);
}

async function openLink() {
  try {
    open(location.hash.length > 1 ? await readLink() : examples[0]);
  } catch {
    open(examples[0]);
    showStatus("The link could not be read; this is the first example.");
  }
}

source.oninput = scheduleUpdate;
source.onkeydown = (event) => {
  if (event.key !== "Tab" || event.shiftKey || event.ctrlKey || event.altKey) return;
  event.preventDefault();
  source.setRangeText("    ", source.selectionStart, source.selectionEnd, "end");
  scheduleUpdate();
};
byId("example").onchange = ({ target }) => {
  history.replaceState(null, "", location.pathname);
  open(examples.find(({ name }) => name === target.value));
};
byId("send").onclick = () => setReplies([...replies, byId("reply").value]);
byId("back").onclick = () => setReplies(replies.slice(0, -1));
byId("restart").onclick = () => setReplies([]);
byId("ask").onclick = askServer;
byId("link").onclick = async () => {
  const link = await writeLink();
  history.replaceState(null, "", link);
  await navigator.clipboard?.writeText(link).catch(() => {});
  showStatus("The link is in the address bar and on the clipboard.");
};
addEventListener("hashchange", openLink);

startWorker();
examples = await (await fetch(new URL("examples.json", import.meta.url))).json();
byId("example").append(...examples.map(({ name, title }) => element("option", { value: name, textContent: title })));
await openLink();
