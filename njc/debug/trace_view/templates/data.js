"use strict";
// The page's data, and how values are written.

const byId = (id) => document.getElementById(id);
const JUMPS = new Set(["broke", "continued", "returned", "raised"]);

async function loadData() {
  const text = atob(byId("data").textContent), bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// All texts of a run in lower case, for the search.
function collectText(run) {
  const steps = run.steps.flatMap((step) => [step.code, step.ending, step.shown_text, step.reply_text, step.printed, step.model,
    ...step.changes.map(([name, , after]) => `${name}: ${after ?? ""}`)]);
  return [run.place, run.model, run.error, ...steps].join("\n").toLowerCase();
}

function formatSeconds(seconds) {
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)} h ${String(Math.floor(seconds / 60) % 60).padStart(2, "0")} m`;
  if (seconds >= 60) return `${Math.floor(seconds / 60)} m ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  if (seconds >= 1) return `${seconds.toFixed(seconds >= 10 ? 1 : 2)} s`;
  return seconds ? `${(1000 * seconds).toFixed(seconds >= 0.01 ? 0 : 1)} ms` : "0 s";
}
const formatCount = (number) => number.toLocaleString("en-US");
const formatUsd = (usd) => usd === null ? "" : `$${usd >= 100 ? usd.toFixed(0) : usd.toFixed(4)}`;
const count = (number, noun) => `${formatCount(number)} ${noun}${number === 1 ? "" : "s"}`;

// An element with properties and children; texts become text nodes, never HTML.
function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== ""));
  return element;
}
