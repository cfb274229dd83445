// The page: what is selected, and what follows from it.

const MANY_RUNS = 100;  // From this number on, the time axis of all runs is too long to show single runs.

class Viewer {
  constructor(data) {
    this.data = data;
    this.chunks = new Chunks(data.chunks);
    this.tab = data.traces.length > 1 ? "pairs" : 0;
    this.toggled = new Set();
    this.hits = null;
    this.search = 0;
    this.marked = null;
    this.selected = -1;
    this.rowRuns = this.rowSteps = new Int32Array(0);
    this.pairs = data.traces.length > 1 ? pairRuns(data) : [];
    this.list = new RowList(byId("list"), byId("sizer"), byId("rows"), makeRow, (row, index) => this.fill(row, index),
      (first, end) => this.follow(first, end));
    this.axes = data.traces.map(({ first, runs }) => new TimeAxis(data, first, first + runs));
    this.view = null;
    this.connect();
    this.choose(this.tab);
  }

  get isPairs() { return this.tab === "pairs"; }
  get axis() { return this.axes[this.isPairs ? 0 : this.tab]; }

  // ── Which rows exist ──

  readFilters() {
    const numberOf = (id) => byId(id).value === "" ? null : Number(byId(id).value);
    this.filters = {
      refusals: byId("refusals").checked, unchanged: byId("unchanged").checked, jumps: byId("jumps").checked, slow: numberOf("slow"),
      expensive: numberOf("expensive"), block: byId("block").value, search: byId("search").value.trim(),
    };
    this.opensAll = Boolean(this.filters.refusals || this.filters.unchanged || this.filters.jumps || this.filters.search);
  }

  hasRun(run) {
    const { runs, places, outcomes, steps } = this.data, { refusals, unchanged, jumps, slow, expensive, block, search } = this.filters;
    if (refusals && !runs.refusals[run]) return false;
    if (unchanged && !runs.unchanged[run]) return false;
    if (jumps && !JUMPS.has(outcomes[runs.outcome[run]])) return false;
    if (slow !== null && runs.seconds[run] < slow) return false;
    if (expensive !== null && runs.usd[run] < expensive) return false;
    if (block && !places[runs.place[run]].startsWith(block)) return false;
    if (!search || !this.hits) return true;
    const first = runs.first[run];
    for (let step = first; step < first + runs.steps[run]; step++) if (this.hits[step]) return true;
    return false;
  }

  hasStep(step) {
    const { steps } = this.data, { refusals, unchanged, jumps, search } = this.filters;
    if (steps.kind[step] !== 1 && steps.kind[step] !== 2) return false;
    return (!refusals || steps.flags[step] & REFUSED) && (!unchanged || steps.flags[step] & UNCHANGED) && (!jumps || steps.flags[step] & JUMP) &&
      (!search || !this.hits || this.hits[step]);
  }

  isOpen(run) { return this.toggled.has(run) !== this.opensAll; }

  updateRows() {
    this.readFilters();
    const rowRuns = [], rowSteps = [];
    let found = 0;
    if (this.isPairs) {
      this.pairs.forEach(([a, b], index) => {
        if ((a >= 0 && this.hasRun(a)) || (b >= 0 && this.hasRun(b))) {
          rowRuns.push(index);
          rowSteps.push(-1);
        }
      });
      found = rowRuns.length;
    } else {
      const { first, runs: length } = this.data.traces[this.tab], { runs } = this.data;
      for (let run = first; run < first + length; run++) {
        if (!this.hasRun(run)) continue;
        found++;
        rowRuns.push(run);
        rowSteps.push(-1);
        if (!this.isOpen(run)) continue;
        for (let step = runs.first[run]; step < runs.first[run] + runs.steps[run]; step++) {
          if (!this.hasStep(step)) continue;
          rowRuns.push(run);
          rowSteps.push(step);
        }
      }
    }
    this.rowRuns = Int32Array.from(rowRuns);
    this.rowSteps = Int32Array.from(rowSteps);
    const total = this.isPairs ? this.pairs.length : this.data.traces[this.tab].runs;
    byId("found").textContent = found < total ? `${formatCount(found)} of ${count(total, this.isPairs ? "pair" : "run")}` : "";
    this.selected = Math.min(this.selected, this.rowRuns.length - 1);
    this.list.setLength(this.rowRuns.length);
  }

  async runSearch() {
    const turn = ++this.search, wanted = byId("search").value.trim();
    this.hits = wanted ? new Uint8Array(this.data.steps.kind.length) : null;
    byId("list").ariaBusy = String(Boolean(wanted));
    if (!wanted) return this.updateRows();
    let last = performance.now();
    await searchSteps(this.data, wanted, this.hits, (done, of) => {
      if (turn !== this.search) return false;
      if (performance.now() - last > 200 || done === of) {
        last = performance.now();
        this.updateRows();
        if (done < of) byId("found").textContent += ` (${Math.floor(100 * done / of)} % searched)`;
        else byId("list").ariaBusy = "false";
      }
      return true;
    });
  }

  // ── How a row looks ──

  fill(row, index) {
    row.index = index;
    row.setAttribute("aria-selected", index === this.selected);
    if (this.isPairs) this.fillPair(row, this.pairs[this.rowRuns[index]]);
    else if (this.rowSteps[index] < 0) this.fillRun(row, this.rowRuns[index]);
    else this.fillStep(row, this.rowRuns[index], this.rowSteps[index]);
  }

  fillRun(row, run) {
    const { runs, places, outcomes } = this.data, outcome = outcomes[runs.outcome[run]], depth = Math.min(runs.depth[run], 8);
    const notes = [JUMPS.has(outcome) || outcome === "failed" || !outcome ? outcome || "no end" : "",
      runs.refusals[run] ? `${formatCount(runs.refusals[run])} refused` : ""];
    const hasSteps = runs.steps[run] > 0, texts = hasSteps ? this.peek(runs.first[run]) : undefined;
    this.set(row, "run", hasSteps ? this.isOpen(run) ? "▾" : "▸" : "", places[runs.place[run]], notes.filter(Boolean).join(", "),
      runs.seconds[run], runs.tokens[run], runs.usd[run], depth, texts);
    row.classList.toggle("bad", outcome === "failed" || outcome === "raised" || runs.refusals[run] > 0);
    row.classList.toggle("marked", run === this.marked);
    this.setBar(row.bars[0], runs.start[run], runs.seconds[run]);
    this.setBar(row.bars[1], 0, -1);
    this.setBar(row.bars[2], 0, -1);
  }

  fillStep(row, run, step) {
    const { runs, steps } = this.data, texts = this.peek(step);
    const firstLine = texts ? texts.code.trimStart().split("\n", 1)[0].slice(0, 200) : "…";
    const note = steps.flags[step] & REFUSED ? "refused" : steps.flags[step] & FAILED ? "failed" : steps.flags[step] & JUMP ? texts?.result.split(":", 1)[0] ?? "" : "";
    this.set(row, "step", "", `${step - runs.first[run]}  ${firstLine || texts?.effect || KINDS[steps.kind[step]]}`, note,
      steps.call[step] + steps.code[step], steps.tokens[step], steps.usd[step], Math.min(runs.depth[run], 8) + 1, texts);
    row.classList.toggle("bad", Boolean(steps.flags[step] & (REFUSED | FAILED)));
    row.classList.remove("marked");
    this.setBar(row.bars[0], 0, -1);
    this.setBar(row.bars[1], steps.start[step], steps.call[step]);
    this.setBar(row.bars[2], steps.start[step] + steps.call[step], steps.code[step]);
  }

  fillPair(row, [a, b, isSame]) {
    const { runs, places, outcomes } = this.data, any = a >= 0 ? a : b;
    const outcome = (run) => run < 0 ? "none" : outcomes[runs.outcome[run]] || "no end";
    this.set(row, "run", isSame ? "=" : "≠", places[runs.place[any]], outcome(a) === outcome(b) ? outcome(a) : `${outcome(a)} | ${outcome(b)}`,
      runs.seconds[any], runs.tokens[any], runs.usd[any], Math.min(runs.depth[any], 8));
    row.classList.toggle("bad", !isSame);
    row.classList.remove("marked");
    row.bars.forEach((bar) => this.setBar(bar, 0, -1));
    if (a >= 0) this.setBar(row.bars[0], runs.start[a], runs.seconds[a]);
  }

  // The texts of a step if they are loaded; otherwise they are fetched, and the rows are drawn again.
  peek(step) {
    const texts = this.chunks.peek(step);
    if (!texts) this.chunks.load(step).then(() => this.list.update());
    return texts;
  }

  set(row, kind, caret, name, note, seconds, tokens, usd, depth, texts) {
    row.classList.toggle("step", kind === "step");
    row.parts.caret.textContent = caret;
    row.parts.name.textContent = row.parts.name.title = name;
    row.parts.given.textContent = row.parts.given.title = texts?.given ?? "";
    row.parts.changed.textContent = row.parts.changed.title = texts?.changed ? `→ ${texts.changed}` : "";
    row.parts.note.textContent = note;
    row.parts.seconds.textContent = seconds < 60 ? seconds.toFixed(seconds < 0.1 ? 3 : 2) : formatSeconds(seconds);
    row.parts.tokens.textContent = tokens ? formatTokens(tokens) : "";
    row.parts.cost.textContent = formatUsd(usd);
    row.style.setProperty("--depth", depth);
  }

  setBar(bar, start, seconds) {
    bar.hidden = seconds < 0;
    if (bar.hidden) return;
    const [from, until] = this.view ?? [0, this.axis.length], width = until - from || 1;
    const left = (this.axis.toPlace(start) - from) / width, right = (this.axis.toPlace(start + seconds) - from) / width;
    bar.hidden = right < 0 || left > 1;
    bar.style.left = `${100 * Math.max(0, Math.min(left, 1))}%`;
    bar.style.width = `${100 * Math.max(0, Math.min(right, 1) - Math.max(left, 0))}%`;
  }

  // Zooms to the time of the visible rows, if wanted.
  follow(first, end) {
    if (!byId("follow").checked || this.isPairs || first >= end) return;
    const { start, seconds } = this.data.runs;
    let from = Infinity, until = -Infinity;
    for (let index = first; index < end; index++) {
      const run = this.rowRuns[index];
      from = Math.min(from, start[run]);
      until = Math.max(until, start[run] + seconds[run]);
    }
    const view = [this.axis.toPlace(from), this.axis.toPlace(until)];
    if (view[1] <= view[0] || (this.view && view[0] === this.view[0] && view[1] === this.view[1])) return;
    this.view = view;
    drawAxis(byId("axis"), this.axis, view);
  }

  // Zooms to a part of the time axis, or to all of it.
  setView(view) {
    byId("follow").checked = false;
    this.view = view;
    drawAxis(byId("axis"), this.axis, view ?? [0, this.axis.length]);
    this.list.update();
  }

  // ── What is selected ──

  choose(tab) {
    this.tab = tab;
    this.selected = -1;
    for (const button of byId("tabs").children) button.setAttribute("aria-pressed", String(button.tab) === String(tab));
    this.updateRows();
    this.setView(null);
    byId("follow").checked = !this.isPairs && this.data.traces[tab].runs > MANY_RUNS;
    const different = this.isPairs ? this.pairs.findIndex(([, , isSame]) => !isSame) : -1;
    if (different >= 0) this.select(this.rowRuns.indexOf(different));
    else this.closeDetail();
  }

  toggle(run) {
    if (!this.toggled.delete(run)) this.toggled.add(run);
    this.updateRows();
  }

  async select(index) {
    if (index < 0 || index >= this.rowRuns.length) return;
    this.selected = index;
    this.list.scrollTo(index);
    this.list.update();
    const { data, chunks } = this, run = this.rowRuns[index], step = this.rowSteps[index];
    if (this.isPairs) {
      const [a, b] = this.pairs[run];
      const missing = a < 0 ? "A" : "B", place = data.places[data.runs.place[a < 0 ? b : a]];
      if (a >= 0 && b >= 0) return this.showDetail(place, showPair(data, chunks, a, b), [], true);
      return this.showDetail(place, Promise.resolve([make("p", { className: "answer" }, `${missing} has no such run.`)]), [], true);
    }
    const place = data.places[data.runs.place[run]];
    if (step >= 0) {
      const number = step - data.runs.first[run];
      return this.showDetail(`${place}, step ${number}`, showStepDetail(data, chunks, step), []);
    }
    const number = run - data.traces[this.tab].first + 1;
    return this.showDetail(`run ${number}, ${place}`, showRunDetail(data, chunks, run), this.makeRunButtons(run));
  }

  makeRunButtons(run) {
    const { start, seconds } = this.data.runs, from = this.axis.toPlace(start[run]), until = this.axis.toPlace(start[run] + seconds[run]);
    const other = this.marked, button = (text, onclick) => make("button", { type: "button", onclick }, text);
    const buttons = [button(this.isOpen(run) ? "Hide steps" : "Show steps", () => { this.toggle(run); this.select(this.selected); })];
    if (until > from) buttons.push(button("Zoom to this run", () => this.setView([from, until])));
    buttons.push(button(other === run ? "Compare with… (choose a run)" : "Compare with…", () => { this.marked = run; this.select(this.selected); }));
    if (other !== null && other !== run) {
      buttons.push(button(`Compare with ${this.data.ids[other]}`, () =>
        this.showDetail("Two runs", showPair(this.data, this.chunks, other, run), [], true)));
    }
    return buttons;
  }

  async showDetail(title, content, buttons, isPair = false) {
    const detail = byId("detail"), turn = this.turn = (this.turn ?? 0) + 1;
    const shown = await content;
    if (turn !== this.turn) return;
    const close = make("button", { type: "button", className: "close", onclick: () => this.closeDetail(), "aria-label": "Close" }, "×");
    detail.replaceChildren(make("div", { className: "head" }, make("h2", {}, title), close),
      ...(buttons.length ? [make("p", { className: "buttons" }, ...buttons)] : []), ...shown);
    detail.hidden = false;
    detail.scrollTop = 0;
    byId("main").className = isPair ? "with-detail with-pair" : "with-detail";
    const first = detail.querySelector(".pair.first");
    if (first) first.scrollIntoView({ block: "start" });
  }

  closeDetail() {
    this.turn = (this.turn ?? 0) + 1;
    byId("detail").hidden = true;
    byId("main").className = "";
    this.list.update();
  }

  // ── Controls ──

  connect() {
    const { data } = this, tabs = byId("tabs"), list = byId("list");
    if (data.traces.length > 1) {
      tabs.hidden = false;
      for (const [tab, text] of [["pairs", "A | B"], [0, "A"], [1, "B"]]) {
        const button = make("button", { type: "button", onclick: () => this.choose(tab), title: tab === "pairs" ? "side by side" : data.traces[tab].path }, text);
        button.tab = tab;
        tabs.append(button);
      }
    }
    const files = new Set(data.places.map((place) => place.replace(/:\d+$/, "")));
    const blocks = files.size > 1 ? [...files, ...data.places] : data.places;
    byId("block").append(...blocks.slice(0, 2000).sort().map((place) => make("option", { value: place }, place)));
    const { selection } = data;
    byId("refusals").checked = selection.refusals;
    byId("unchanged").checked = selection.unchanged;
    byId("jumps").checked = selection.jumps;
    byId("slow").value = selection.slow ?? "";
    byId("expensive").value = selection.expensive ?? "";
    byId("search").value = selection.search;
    const block = blocks.find((place) => selection.block && place.startsWith(selection.block));
    byId("block").value = block ?? "";
    if (selection.search) this.runSearch();
    let timer;
    byId("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => this.runSearch(), 250); });
    byId("tools").addEventListener("input", (event) => { if (event.target.id !== "search") this.updateRows(); });
    byId("tools").addEventListener("submit", (event) => event.preventDefault());
    byId("follow").addEventListener("input", (event) => { if (!event.target.checked) this.setView(null); });
    list.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (!row) return;
      if (event.target.className === "caret" && !this.isPairs && this.rowSteps[row.index] < 0) this.toggle(this.rowRuns[row.index]);
      else this.select(row.index);
    });
    list.addEventListener("dblclick", (event) => {
      const row = event.target.closest(".row");
      if (row && !this.isPairs && this.rowSteps[row.index] < 0) this.toggle(this.rowRuns[row.index]);
    });
    document.addEventListener("keydown", (event) => this.press(event));
  }

  press(event) {
    if (event.key === "Escape") return this.closeDetail();
    if (event.target.closest("input, select, button, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
    const run = this.rowSteps[this.selected] < 0 && !this.isPairs ? this.rowRuns[this.selected] : undefined;
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20 };
    if (event.key in moves) this.select(Math.max(0, Math.min(this.selected + moves[event.key], this.rowRuns.length - 1)));
    else if (event.key === "ArrowRight" && run !== undefined && !this.isOpen(run)) this.toggle(run);
    else if (event.key === "ArrowLeft" && run !== undefined && this.isOpen(run)) this.toggle(run);
    else if (event.key === "/") byId("search").focus();
    else return;
    event.preventDefault();
  }
}

// The runs of two traces in pairs: a block's third run with the same block's third. Runs without a partner have -1.
function pairRuns({ runs, traces }) {
  const [one, other] = traces, partners = new Map(), pairs = [];
  for (let run = other.first; run < other.first + other.runs; run++) {
    const place = runs.place[run];
    if (!partners.has(place)) partners.set(place, []);
    partners.get(place).push(run);
  }
  const taken = new Map(), isTaken = new Set();
  for (let run = one.first; run < one.first + one.runs; run++) {
    const place = runs.place[run], number = taken.get(place) ?? 0, partner = partners.get(place)?.[number] ?? -1;
    taken.set(place, number + 1);
    isTaken.add(partner);
    const isSame = partner >= 0 && runs.digest[run] === runs.digest[partner] && runs.digest2[run] === runs.digest2[partner];
    pairs.push([run, partner, isSame]);
  }
  for (let run = other.first; run < other.first + other.runs; run++) if (!isTaken.has(run)) pairs.push([-1, run, false]);
  return pairs;
}

function describeTotals(data, { first, runs: length, processes }) {
  const { runs } = data, sums = { calls: 0, effects: 0, tokens: 0, refusals: 0 };
  let usd = -1, begin = Infinity, end = -Infinity;
  for (let run = first; run < first + length; run++) {
    for (const name in sums) sums[name] += runs[name][run];
    if (runs.usd[run] >= 0) usd = Math.max(usd, 0) + runs.usd[run];
    begin = Math.min(begin, runs.start[run]);
    end = Math.max(end, runs.start[run] + runs.seconds[run]);
  }
  return [count(length, "run"), count(sums.calls, "call"), count(sums.effects, "effect"), count(sums.tokens, "token"), formatUsd(usd),
    sums.refusals ? count(sums.refusals, "refusal") : "", processes > 1 ? `${formatCount(processes)} processes` : "",
    `${new Date(begin * 1000).toLocaleString()}, ${formatSeconds(end - begin)}`].filter(Boolean).join(" · ");
}

loadData().then((data) => {
  const lines = data.traces.map((trace, index) => make("span", { className: "trace" }, data.traces.length > 1 ? make("b", {}, `${"AB"[index]} `) : null, describeTotals(data, trace)));
  byId("totals").replaceChildren(...lines);
  const problems = data.traces.flatMap((trace) => trace.problems.map((problem) => make("li", {}, `${trace.path}: ${problem}`)));
  byId("problems").replaceChildren(...problems);
  byId("problems").hidden = !problems.length;
  new Viewer(data);
  document.documentElement.dataset.ready = "1";
}, (error) => {
  byId("totals").textContent = `This page cannot be shown (${error.message}); a browser from 2023 on can.`;
});
