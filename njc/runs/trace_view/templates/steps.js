// The details of a run, a step, or two runs side by side.

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
    if (match.index > end) parts.push(code.slice(end, match.index));
    const kind = match[1] ? "string" : match[2] ? "comment" : match[3] ? "keyword" : "number";
    parts.push(make("span", { className: kind }, match[0]));
    end = match.index + match[0].length;
  }
  parts.push(code.slice(end));
  return parts;
}

const showCode = (code, others) => make("pre", { className: "code" }, others === undefined ? colorPython(code) : markLines(code, others));

// The lines of a text; lines that differ from another text's line at the same place are marked.
function markLines(text, other) {
  const lines = text.split("\n"), others = other.split("\n");
  return lines.map((line, index) =>
    make("span", { className: line === others[index] ? "line" : "line different" }, colorPython(line)));
}

function showPart(title, ...content) {
  return [make("h3", {}, title), ...content];
}

function showFolded(title, text) {
  return text ? [make("details", {}, make("summary", {}, title), make("pre", {}, text))] : [];
}

function showChanges(changes) {
  const rows = changes.map(([name, before, after]) => make("tr", {},
    make("th", { scope: "row" }, name),
    make("td", { className: "before" }, before ?? "–"),
    make("td", { className: "after" }, after ?? "(not bound)")));
  return make("div", { className: "scroll" }, make("table", { className: "changes" },
    make("thead", {}, make("tr", {}, ...["variable", "before", "after"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows)));
}

function showState(changes) {
  return make("dl", { className: "state" }, ...changes.flatMap(([name, , after]) =>
    [make("dt", {}, name), make("dd", {}, after ?? "(not bound)")]));
}

const showFacts = (facts) => make("p", { className: "facts" }, ...facts.filter(Boolean).map((fact) => make("span", {}, fact)));

function showStepParts(step, kind, other) {
  const compared = (name) => other === undefined ? undefined : other?.[name] ?? "";
  const resultClass = step.resultKind === "refusal" || step.resultKind === "error" ? "result bad" : "result";
  return [
    ...(step.code ? showPart(step.effect && kind === "effect" ? step.effect : "Instruction", showCode(step.code.trimEnd(), compared("code"))) : []),
    ...(step.changes.length ? kind === "enter" ? showPart("Variables", showState(step.changes)) : showPart("Changed", showChanges(step.changes)) : []),
    ...(step.printed ? showPart("Printed", make("pre", {}, step.printed)) : []),
    ...(step.result ? showPart(step.resultKind === "refusal" ? "Refused" : "Result",
      make("pre", { className: resultClass }, other === undefined ? step.result : markLines(step.result, compared("result")))) : []),
    ...showFolded("Shown to the model", step.shown),
    ...showFolded("Reply of the model", step.reply),
  ];
}

function describeRun(data, run) {
  const { runs } = data, outcome = data.outcomes[runs.outcome[run]];
  return [
    outcome || "no end in the trace",
    formatSeconds(runs.seconds[run]),
    count(runs.calls[run], "call"),
    runs.tokens[run] ? `${formatCount(runs.tokens[run])} tokens` : "",
    formatUsd(runs.usd[run]),
    data.models[runs.model[run]],
    runs.refusals[run] ? `${formatCount(runs.refusals[run])} refused` : "",
  ];
}

function describeStep(data, number, step) {
  const { steps } = data;
  return [
    steps.call[number] ? `model ${formatSeconds(steps.call[number])}` : "",
    steps.code[number] ? `code ${formatSeconds(steps.code[number])}` : "",
    step.input ? `${formatCount(step.input)} + ${formatCount(step.output)} tokens` : "",
    step.cached ? `${formatCount(step.cached)} cached` : "",
    formatUsd(steps.usd[number]),
    step.model,
    step.source && step.source !== "model" ? `from the ${step.source}` : "",
    step.turn ? `turn ${step.turn}` : "",
  ];
}

// All variables before a step: those at the entry, plus the changes since.
async function findState(data, chunks, number) {
  const state = new Map();
  for (let earlier = data.runs.first[data.runOfStep[number]]; earlier < number; earlier++) {
    for (const [name, , after] of (await chunks.load(earlier)).changes) {
      if (after === null) state.delete(name);
      else state.set(name, after);
    }
  }
  return [...state].map(([name, text]) => [name, null, text]);
}

async function showRunDetail(data, chunks, run) {
  const { runs } = data, first = runs.first[run], last = first + runs.steps[run] - 1;
  const error = data.errors[run];
  const content = [showFacts(describeRun(data, run))];
  if (error) content.push(make("pre", { className: "result bad" }, error));
  if (runs.steps[run] && data.steps.kind[first] === 0) content.push(...showStepParts(await chunks.load(first), "enter"));
  if (last > first && data.steps.kind[last] === 3) {
    const exit = await chunks.load(last);
    if (exit.changes.length) content.push(...showPart("Changed at the end", showChanges(exit.changes)));
    if (exit.printed) content.push(...showPart("Printed", make("pre", {}, exit.printed)));
  }
  content.push(make("p", { className: "soft" }, `run ${data.ids[run]}, ${new Date(runs.start[run] * 1000).toLocaleString()}`));
  return content;
}

async function showStepDetail(data, chunks, number) {
  const step = await chunks.load(number), kind = KINDS[data.steps.kind[number]];
  const content = [showFacts(describeStep(data, number, step)), ...showStepParts(step, kind)];
  const before = make("details", {}, make("summary", {}, "All variables before"));
  before.addEventListener("toggle", async () => {
    if (before.children.length === 1) before.append(showState(await findState(data, chunks, number)));
  }, { once: true });
  return [...content, before];
}

function findFirstDifference(data, a, b) {
  const { runs, steps } = data, most = Math.max(runs.steps[a], runs.steps[b]);
  for (let index = 0; index < most; index++) {
    const one = runs.first[a] + index, other = runs.first[b] + index;
    if (index >= runs.steps[a] || index >= runs.steps[b]) return index;
    if (steps.digest[one] !== steps.digest[other] || steps.digest2[one] !== steps.digest2[other]) return index;
  }
  return -1;
}

const PAIR_PAGE = 25;

async function showPair(data, chunks, a, b) {
  const { runs } = data, different = findFirstDifference(data, a, b);
  const most = Math.max(runs.steps[a], runs.steps[b]);
  let from = Math.max(0, different - 2), until = Math.min(most, from + PAIR_PAGE);
  const body = make("div", { className: "pairs" });
  const showSide = async (run, other, index, letter) => {
    if (index >= runs.steps[run]) return make("div", { className: "side" }, make("p", { className: "soft" }, `${letter} has no such step`));
    const number = runs.first[run] + index, step = await chunks.load(number);
    const compared = index < runs.steps[other] ? await chunks.load(runs.first[other] + index) : null;
    return make("div", { className: "side" }, showFacts([letter, ...describeStep(data, number, step)]),
      ...showStepParts(step, KINDS[data.steps.kind[number]], compared));
  };
  const fill = async () => {
    const rows = [];
    if (from > 0) rows.push(make("button", { type: "button", onclick: () => { from = Math.max(0, from - PAIR_PAGE); fill(); } }, "Earlier steps"));
    for (let index = from; index < until; index++) {
      const isFirst = index === different, kind = KINDS[data.steps.kind[runs.first[index < runs.steps[a] ? a : b] + index]];
      rows.push(make("div", { className: isFirst ? "pair first" : "pair" },
        make("h3", {}, `${kind} ${index}`, isFirst ? make("b", {}, " first difference") : null),
        make("div", { className: "sides" }, await showSide(a, b, index, "A"), await showSide(b, a, index, "B"))));
    }
    if (until < most) rows.push(make("button", { type: "button", onclick: () => { until = Math.min(most, until + PAIR_PAGE); fill(); } }, "Later steps"));
    body.replaceChildren(...rows);
  };
  await fill();
  const verdict = different < 0 ? "No difference: both did the same." : `They differ first in step ${different}.`;
  return [
    showFacts(["A", `run ${data.ids[a]}`, ...describeRun(data, a)]),
    showFacts(["B", `run ${data.ids[b]}`, ...describeRun(data, b)]),
    make("p", { className: "answer" }, verdict), body,
  ];
}
