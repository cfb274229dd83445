// The list of runs on a time axis, and the details of one run.

// Time without the pauses in which nothing ran, as several programs may have appended to one trace.
class TimeAxis {
  constructor(runs) {
    const spans = runs.map(({ start, seconds }) => [start, start + seconds]).sort((one, other) => one[0] - other[0]);
    this.spans = [];
    for (const [begin, end] of spans) {
      const last = this.spans.at(-1);
      if (last && begin <= last.end) last.end = Math.max(last.end, end);
      else this.spans.push({ begin, end, place: last ? last.place + last.end - last.begin : 0 });
    }
    const last = this.spans.at(-1);
    this.length = (last && last.place + last.end - last.begin) || 1;
  }

  // The share of the axis before a time.
  toShare(time) {
    const span = this.spans.findLast(({ begin }) => begin <= time) ?? this.spans[0];
    return (span.place + Math.min(Math.max(time - span.begin, 0), span.end - span.begin)) / this.length;
  }

  makeBar(className, start, seconds) {
    const bar = make("i", { className }), left = this.toShare(start);
    bar.style.left = `${100 * left}%`;
    bar.style.width = `${100 * (this.toShare(start + seconds) - left)}%`;
    return bar;
  }
}

const TICKS = 4;

function drawAxis(element, axis) {
  const ticks = Array.from({ length: TICKS }, (_, tick) => {
    const label = make("span", {}, formatSeconds(axis.length * tick / TICKS));
    label.style.left = `${100 * tick / TICKS}%`;
    return label;
  });
  const keys = [["run-bar", "run"], ["call-bar", "model"], ["code-bar", "code"]].map(([className, name]) =>
    make("span", { className: "key" }, make("i", { className }), name));
  element.replaceChildren(make("span", { className: "name" }, "block"), make("span", { className: "given" }, "came in"),
    make("span", { className: "changed" }, "result"), make("span", { className: "track" }, ...ticks),
    make("span", { className: "seconds" }, ...keys));
}

const isBad = (run) => run.outcome === "failed" || run.outcome === "raised" || run.refusals > 0;

function describeEnd(run) {
  const outcome = run.outcome === "completed" ? "" : run.outcome || "no end";
  return [outcome, run.refusals ? `${formatCount(run.refusals)} refused` : ""].filter(Boolean).join(", ");
}

function makeRow(run, axis) {
  const text = (className, value) => make("span", { className, title: value }, value);
  const name = text("name", run.place);
  name.style.setProperty("--depth", Math.min(run.depth, 8));
  const bars = [axis.makeBar("run-bar", run.start, run.seconds)];
  for (const step of run.steps) {
    if (step.call_seconds) bars.push(axis.makeBar("call-bar", step.start, step.call_seconds));
    if (step.seconds && step.kind === "effect") bars.push(axis.makeBar("code-bar", step.start + step.call_seconds, step.seconds));
  }
  return make("button", { type: "button", className: isBad(run) ? "row bad" : "row" }, name, text("given", run.given),
    text("changed", [run.changed, describeEnd(run)].filter(Boolean).join(" · ")), make("span", { className: "track" }, ...bars),
    text("seconds", [formatSeconds(run.seconds), run.tokens ? count(run.tokens, "token") : "", formatUsd(run.usd)].filter(Boolean).join(" · ")));
}

// ── Details ──

const PYTHON = new RegExp(
  [
    String.raw`("""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)`,
    String.raw`(#[^\n]*)`,
    String.raw`\b(and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield|None|True|False)\b`,
    String.raw`\b(\d[\w.]*)`,
  ].join("|"), "g");

function colorPython(code) {
  const parts = [];
  let end = 0;
  for (const match of code.matchAll(PYTHON)) {
    parts.push(code.slice(end, match.index));
    const kind = match[1] ? "string" : match[2] ? "comment" : match[3] ? "keyword" : "number";
    parts.push(make("span", { className: kind }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, code.slice(end)];
}

const showPart = (title, content) => content ? [make("h3", {}, title), content] : [];
const showText = (text, className = "") => text ? make("pre", { className }, text) : null;
const showFolded = (title, text) => text ? [make("details", {}, make("summary", {}, title), make("pre", {}, text))] : [];
const showFacts = (facts) => make("p", { className: "facts" }, ...facts.filter(Boolean).map((fact) => make("span", {}, fact)));

function showValues(values) {
  return values.length ? make("dl", {}, ...values.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text ?? "(not bound)")])) : null;
}

function showChanges(changes) {
  const rows = changes.map(([name, before, after]) => make("tr", {}, make("th", { scope: "row" }, name),
    make("td", { className: "before" }, before ?? "–"), make("td", {}, after ?? "(not bound)")));
  const head = ["variable", "before", "after"].map((name) => make("th", { scope: "col" }, name));
  return rows.length ? make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)) : null;
}

function showStep(step, number) {
  const isRefused = step.result_kind === "refusal" || step.result_kind === "error";
  return make("section", { className: isRefused ? "step bad" : "step" }, make("h3", {}, `${number} ${step.name || step.kind}`),
    showFacts([step.call_seconds ? `model ${formatSeconds(step.call_seconds)}` : "", step.seconds ? `code ${formatSeconds(step.seconds)}` : "",
      step.tokens ? count(step.tokens, "token") : "", formatUsd(step.usd), step.model, step.source && step.source !== "model" ? `from the ${step.source}` : ""]),
    step.code ? make("pre", {}, ...(step.is_code ? colorPython(step.code.trimEnd()) : [step.code.trimEnd()])) : null,
    showChanges(step.changes), showPart("Printed", showText(step.printed)),
    showPart(step.result_kind === "refusal" ? "Refused" : "Answer", step.result_kind === "outcome" ? null : showText(step.ending, isRefused ? "bad" : "")),
    showFolded("Shown to the model", step.shown_text), showFolded("Reply of the model", step.reply_text));
}

// A run: what came in beside its result, the instruction, and its steps.
function showRun(run) {
  const entry = run.steps.find(({ kind }) => kind === "enter"), later = run.steps.filter(({ kind }) => kind !== "enter");
  const bound = new Map(later.flatMap(({ changes }) => changes).map(([name, , after]) => [name, after]));
  const printed = later.map((step) => step.printed).join("");
  return [
    showFacts([run.outcome || "no end in the trace", formatSeconds(run.seconds), count(run.calls, "call"), run.tokens ? count(run.tokens, "token") : "",
      formatUsd(run.usd), run.model, `${run.id}, ${new Date(run.start * 1000).toLocaleString()}`]),
    make("div", { className: "sides" },
      make("div", {}, ...showPart("Came in", showValues(run.inputs) ?? "nothing")),
      make("div", {}, ...showPart("Result", showValues([...bound]) ?? (printed || run.error ? null : run.outcome || "no end")), showText(printed), showText(run.error, "bad"))),
    ...showPart("Instruction", showText(entry?.code ?? "", "prose")),
    ...later.filter(({ kind }) => kind !== "exit").map((step, index) => showStep(step, index + 1)),
  ];
}
