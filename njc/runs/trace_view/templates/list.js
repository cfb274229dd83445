// The list of runs and steps on a time axis: only the rows on the screen are elements.

const MAX_HEIGHT = 8e6;

// Time without the long pauses in which nothing ran, as several programs may have appended to one trace.
class TimeAxis {
  constructor(data, from, until) {
    const { start, seconds, depth } = data.runs, spans = [];
    for (let run = from; run < until; run++) if (depth[run] === 0) spans.push([start[run], start[run] + seconds[run]]);
    spans.sort((one, other) => one[0] - other[0]);
    const merged = [];
    for (const [begin, end] of spans) {
      const last = merged[merged.length - 1];
      if (last && begin <= last[1]) last[1] = Math.max(last[1], end);
      else merged.push([begin, end]);
    }
    const active = merged.reduce((sum, [begin, end]) => sum + end - begin, 0) || 1;
    const pause = Math.min(active / 100, active / (4 * merged.length));
    this.times = [];
    this.places = [];
    let place = 0;
    merged.forEach(([begin, end], index) => {
      if (index) place += Math.min(begin - merged[index - 1][1], pause);
      this.times.push(begin);
      this.places.push(place);
      place += end - begin;
      this.times.push(end);
      this.places.push(place);
    });
    this.length = place || 1;
    this.begin = this.times[0] ?? 0;
  }

  toPlace(time) { return interpolate(this.times, this.places, time); }
  toTime(place) { return interpolate(this.places, this.times, place); }
}

function interpolate(from, to, value) {
  if (!from.length) return 0;
  let low = 0, high = from.length - 1;
  if (value <= from[0]) return to[0];
  if (value >= from[high]) return to[high];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (from[middle] <= value) low = middle;
    else high = middle;
  }
  const width = from[high] - from[low];
  return width ? to[low] + (to[high] - to[low]) * (value - from[low]) / width : to[low];
}

// `prepare(first, end)` is told which rows are visible, then `fill(element, index)` writes each of them; elements are
// reused as they scroll out of sight.
class RowList {
  constructor(list, sizer, rows, makeRow, fill, prepare) {
    Object.assign(this, { list, sizer, rows, makeRow, fill, prepare, length: 0, pool: [], isWaiting: false });
    list.addEventListener("scroll", () => this.update(), { passive: true });
    new ResizeObserver(() => this.update()).observe(list);
  }

  get rowHeight() { return this.pool[0]?.offsetHeight || 30; }

  setLength(length) {
    this.length = length;
    if (!this.pool.length) this.grow(1);
    this.sizer.style.height = `${Math.min(length * this.rowHeight, MAX_HEIGHT)}px`;
    this.update();
  }

  grow(size) {
    while (this.pool.length < size) {
      this.pool.push(this.makeRow());
      this.rows.append(this.pool[this.pool.length - 1]);
    }
  }

  // The index of the first visible row, with a fraction. Above MAX_HEIGHT, pixels and rows differ in scale.
  get position() {
    const whole = this.length * this.rowHeight, room = this.list.clientHeight;
    const scale = whole > MAX_HEIGHT ? (whole - room) / (MAX_HEIGHT - room) : 1;
    return this.list.scrollTop * scale / this.rowHeight;
  }

  scrollTo(index) {
    const whole = this.length * this.rowHeight, room = this.list.clientHeight;
    const top = index * this.rowHeight, seen = this.position * this.rowHeight;
    if (top >= seen && top + this.rowHeight <= seen + room) return;
    const wanted = top < seen ? top : top + this.rowHeight - room;
    const scale = whole > MAX_HEIGHT ? (whole - room) / (MAX_HEIGHT - room) : 1;
    this.list.scrollTop = wanted / scale;
    this.update();
  }

  update() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      this.isWaiting = false;
      this.draw();
    });
  }

  draw() {
    const height = this.rowHeight, room = Math.ceil(this.list.clientHeight / height) + 2;
    this.grow(Math.min(room, Math.max(1, this.length)));
    const position = this.position, first = Math.max(0, Math.min(Math.floor(position), this.length - room));
    this.rows.style.top = `${this.list.scrollTop - (position - first) * height}px`;
    this.prepare(first, Math.min(first + room, this.length));
    this.pool.forEach((row, offset) => {
      const index = first + offset;
      row.hidden = offset >= room || index >= this.length;
      if (!row.hidden) this.fill(row, index);
    });
  }
}

function makeRow() {
  const row = make("div", { className: "row", role: "option" });
  row.parts = Object.fromEntries(["caret", "name", "given", "changed", "note", "seconds", "tokens", "cost"].map((name) =>
    [name, make("span", { className: name })]));
  row.bars = [make("i", { className: "run-bar" }), make("i", { className: "call-bar" }), make("i", { className: "code-bar" })];
  row.append(
    make("span", { className: "label" }, row.parts.caret, row.parts.name, row.parts.given, row.parts.changed, row.parts.note),
    make("span", { className: "track" }, ...row.bars),
    row.parts.seconds, row.parts.tokens, row.parts.cost);
  return row;
}

const TICKS = 4;

function drawAxis(element, axis, view) {
  const ticks = [];
  for (let tick = 0; tick < TICKS; tick++) {
    const place = view[0] + (view[1] - view[0]) * tick / TICKS;
    const label = make("span", {}, formatSeconds(axis.toTime(place) - axis.begin));
    label.style.left = `${100 * tick / TICKS}%`;
    ticks.push(label);
  }
  const keys = [["run-bar", "run"], ["call-bar", "model"], ["code-bar", "code"]].map(([className, name]) =>
    make("span", { className: "key" }, make("i", { className }), name));
  element.replaceChildren(make("span", { className: "label" }, ...keys), make("span", { className: "track" }, ...ticks),
    make("span", { className: "seconds" }, "seconds"), make("span", { className: "tokens" }, "tokens"), make("span", { className: "cost" }, "cost"));
}
