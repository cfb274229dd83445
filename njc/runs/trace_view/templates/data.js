"use strict";
// The page's data: numbers for all runs and steps from the start, texts in chunks that are unpacked on demand.

const byId = (id) => document.getElementById(id);
const REFUSED = 1, JUMP = 2, FAILED = 4, UNCHANGED = 8;
const KINDS = ["enter", "effect", "call", "exit"];
const JUMPS = new Set(["broke", "continued", "returned", "raised"]);
const MAX_CHUNKS = 48;
const ARRAYS = { d: Float64Array, f: Float32Array, i: Int32Array, I: Uint32Array, B: Uint8Array };

async function unpack(element) {
  const text = atob(element.textContent), bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

async function loadData() {
  const [packed, buffer] = await Promise.all([unpack(byId("names")), unpack(byId("columns"))]);
  const data = JSON.parse(new TextDecoder().decode(packed));
  let offset = 0;
  const readColumns = (described) => Object.fromEntries(described.map(([name, code, length]) => {
    const end = offset + length * ARRAYS[code].BYTES_PER_ELEMENT;
    const column = new ARRAYS[code](buffer.slice(offset, end));
    offset = end;
    return [name, column];
  }));
  data.runs = readColumns(data.runs);
  data.steps = readColumns(data.steps);
  data.runOfStep = new Uint32Array(data.steps.kind.length);
  data.runs.first.forEach((first, run) => data.runOfStep.fill(run, first, first + data.runs.steps[run]));
  return data;
}

const parsed = new Promise((resolve) => {
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", resolve);
  else resolve();
});

async function readChunkText(number) {
  if (!byId(`chunk-${number}`)) await parsed;
  return new TextDecoder().decode(await unpack(byId(`chunk-${number}`)));
}

function makeStep([effect, code, result, resultKind, changes, printed, shown, reply, model, source, counts, [given, changed]]) {
  const [turn, input, output, cached] = counts;
  return { effect, code, result, resultKind, changes, printed, shown, reply, model, source, turn, input, output, cached, given, changed };
}

// The most recently used chunks, and those being loaded.
class Chunks {
  constructor(firstSteps) {
    this.firstSteps = firstSteps;
    this.kept = new Map();
    this.coming = new Map();
  }

  find(step) {
    let low = 0, high = this.firstSteps.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.firstSteps[middle] <= step) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // The texts of a step if they are loaded; undefined otherwise.
  peek(step) {
    const number = this.find(step), chunk = this.kept.get(number);
    if (!chunk) return undefined;
    this.kept.delete(number);
    this.kept.set(number, chunk);
    return makeStep(chunk[step - this.firstSteps[number]]);
  }

  async load(step) {
    const number = this.find(step);
    if (!this.kept.has(number)) {
      if (!this.coming.has(number)) {
        this.coming.set(number, readChunkText(number).then((text) => {
          this.kept.set(number, JSON.parse(text));
          this.coming.delete(number);
          if (this.kept.size > MAX_CHUNKS) this.kept.delete(this.kept.keys().next().value);
        }));
      }
      await this.coming.get(number);
    }
    return this.peek(step) ?? this.load(step);
  }
}

// In `hits`, marks each step that contains a text, chunk by chunk; `report` is told the progress and can stop this.
async function searchSteps(data, wanted, hits, report) {
  wanted = wanted.toLowerCase();
  const inJson = JSON.stringify(wanted).slice(1, -1), { runs, places, models } = data;
  runs.first.forEach((first, run) => {
    const names = [places[runs.place[run]], models[runs.model[run]]];
    if (names.some((name) => name.toLowerCase().includes(wanted))) hits.fill(1, first, first + runs.steps[run]);
  });
  for (let number = 0; number < data.chunks.length; number++) {
    const text = await readChunkText(number);
    if (text.toLowerCase().includes(inJson)) {
      JSON.parse(text).forEach((fields, index) => {
        const [, code, result, , changes, printed, shown, reply, model] = fields;
        const texts = [code, result, printed, shown, reply, model, ...changes.map(([name, , after]) => `${name}: ${after}`)];
        if (texts.some((value) => value.toLowerCase().includes(wanted))) hits[data.chunks[number] + index] = 1;
      });
    }
    if (!report(number + 1, data.chunks.length)) return;
  }
}

function formatSeconds(seconds) {
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} m`;
  if (seconds >= 60) return `${Math.floor(seconds / 60)} m ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds >= 1) return `${seconds.toFixed(seconds >= 10 ? 1 : 2)} s`;
  return seconds ? `${(1000 * seconds).toFixed(seconds >= 0.01 ? 0 : 1)} ms` : "0 s";
}
const formatCount = (number) => number.toLocaleString("en-US");
const formatTokens = (number) => number < 100000 ? formatCount(number) : `${Math.round(number / 1000).toLocaleString("en-US")} k`;
const formatUsd = (usd) => usd < 0 ? "" : `$${usd >= 100 ? usd.toFixed(0) : usd.toFixed(4)}`;
const count = (number, noun) => `${formatCount(number)} ${noun}${number === 1 ? "" : "s"}`;

// An element with properties and children; texts become text nodes, never HTML.
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}
