// The page: which runs are shown, and which one is selected.

const ROWS = 500;  // How many rows are added at a time.

class Viewer {
  constructor(data) {
    this.runs = data.runs;
    this.texts = new Map();
    this.selected = -1;
    this.axis = new TimeAxis(data.runs);
    drawAxis(byId("axis"), this.axis);
    byId("totals").textContent = describeTotals(data.runs);
    byId("problems").replaceChildren(...data.problems.map((problem) => make("li", {}, problem)));
    byId("problems").hidden = !data.problems.length;
    byId("tools").addEventListener("input", () => this.update());
    byId("tools").addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("keydown", (event) => this.press(event));
    this.update();
  }

  hasRun(run, wanted) {
    if (byId("refusals").checked && !run.refusals) return false;
    if (byId("unchanged").checked && !run.is_unchanged) return false;
    if (!wanted) return true;
    if (!this.texts.has(run)) this.texts.set(run, collectText(run));
    return this.texts.get(run).includes(wanted);
  }

  update() {
    const wanted = byId("search").value.trim().toLowerCase();
    this.shown = this.runs.filter((run) => this.hasRun(run, wanted));
    byId("found").textContent = this.shown.length < this.runs.length ? `${formatCount(this.shown.length)} of ${count(this.runs.length, "run")}` : "";
    byId("list").replaceChildren();
    this.close();
    this.addRows();
  }

  addRows() {
    const list = byId("list"), first = list.children.length;
    const rows = this.shown.slice(first, first + ROWS).map((run, index) => {
      const row = makeRow(run, this.axis);
      row.addEventListener("click", () => this.select(first + index));
      return row;
    });
    list.append(...rows);
    byId("more").hidden = list.children.length >= this.shown.length;
    byId("more").onclick = () => this.addRows();
  }

  select(index) {
    const row = byId("list").children[index], run = this.shown[index];
    if (!row) return;
    this.close();
    this.selected = index;
    row.setAttribute("aria-pressed", "true");
    row.scrollIntoView({ block: "nearest" });
    const close = make("button", { type: "button", className: "close", onclick: () => this.close(), "aria-label": "Close" }, "×");
    byId("detail").replaceChildren(make("div", { className: "head" }, make("h2", {}, `run ${run.number}, ${run.place}`), close), ...showRun(run));
    byId("detail").scrollTop = 0;
    byId("detail").hidden = false;
    byId("main").className = "with-detail";
  }

  close() {
    byId("list").children[this.selected]?.removeAttribute("aria-pressed");
    this.selected = -1;
    byId("detail").hidden = true;
    byId("main").className = "";
  }

  press(event) {
    if (event.key === "Escape") return this.close();
    if (event.target.closest("input, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };
    if (event.key in moves) this.select(Math.max(0, this.selected + moves[event.key]));
    else if (event.key === "/") byId("search").focus();
    else return;
    event.preventDefault();
  }
}

function describeTotals(runs) {
  const sum = (name) => runs.reduce((total, run) => total + (run[name] ?? 0), 0);
  const usd = runs.some((run) => run.usd !== null) ? sum("usd") : null;
  return [count(runs.length, "run"), count(sum("calls"), "call"), count(sum("tokens"), "token"), formatUsd(usd),
    sum("refusals") ? count(sum("refusals"), "refusal") : "", runs.length ? new Date(runs[0].start * 1000).toLocaleString() : ""].filter(Boolean).join(" · ");
}

loadData().then((data) => {
  new Viewer(data);
  document.documentElement.dataset.ready = "1";
}, (error) => {
  byId("totals").textContent = `This page cannot be shown (${error.message}); a browser from 2023 on can.`;
});
