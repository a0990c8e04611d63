// The board: asks for what has changed every other second, and draws what the chosen runs have logged.
//
// What is chosen stands in the address, so that it survives a reload and can be kept as a bookmark.

const EVERY = 2000; // milliseconds between two questions
const SOON = 200; // while there is nothing to draw yet
const SELECTED_AT_FIRST = 4;
const MAIN = [
  /^charts\/.+\/episodic_return$/,
  /^charts\/episodic_length$/,
  /^env\//,
  /^league\/.+\/elo$/,
  /^perf\/env_steps_per_s$/,
];
const NO_CURVES = ["iteration", "env_steps", "agent_steps", "time", "charts/episodes"];
const HEADINGS = [
  [/^charts\/(.+)\/episodic_return$/, "$1: return", "rewards per agent and episode"],
  [/^charts\/episodic_length$/, "episode length", "steps"],
  [/^env\/(.+)$/, "$1", "mean of an episode"],
  [/^league\/(.+)\/elo$/, "$1: rating", "Elo"],
  [/^perf\/env_steps_per_s$/, "speed", "env steps per second"],
];

const by = (id) => document.getElementById(id);

class Board {
  constructor() {
    this.rows = new Map();
    this.version = 0;
    this.selected = [];
    this.extra = [];
    this.curves = {};
    this.labels = {};
    this.loads = 0; // how often was asked for curves: an answer that another question has overtaken is not drawn
    this.list = new RunList(by("runs"), (name, wanted) => this.choose(name, wanted));
    this.replays = new Replays(by("replay"));
    this.restore();
    this.listen();
  }

  // ---- what the reader chooses --------------------------------------------------------------------------------------
  listen() {
    by("filter").addEventListener("input", (event) => {
      this.list.filter = event.target.value;
      this.list.arrange(this.rows);
    });
    by("sort").addEventListener("change", (event) => {
      this.list.order = event.target.value;
      this.list.arrange(this.rows);
    });
    for (const id of ["x", "smooth"]) {
      by(id).addEventListener("input", () => {
        this.keep();
        this.draw();
      });
    }
  }

  choose(name, wanted) {
    this.isChosen = true;
    this.selected = wanted ? [...this.selected, name] : this.selected.filter((other) => other !== name);
    this.keep();
    this.list.mark(this.selected);
    this.load();
  }

  restore() {
    const kept = new URLSearchParams(location.hash.slice(1));
    this.selected = kept.getAll("run").slice(0, MOST_SELECTED);
    this.isChosen = this.selected.length > 0; // by the reader, and not by the board
    this.extra = kept.getAll("metric");
    if (kept.has("x")) by("x").value = kept.get("x") === "seconds" ? "seconds" : "steps";
    if (kept.has("smooth")) by("smooth").value = kept.get("smooth");
  }

  keep() {
    const words = this.selected.map((name) => ["run", name]);
    const metrics = this.extra.map((name) => ["metric", name]);
    const looks = [["x", by("x").value], ["smooth", by("smooth").value]];
    history.replaceState(null, "", `#${new URLSearchParams([...words, ...metrics, ...looks])}`);
  }

  // ---- what the server knows ----------------------------------------------------------------------------------------
  async poll() {
    try {
      if (!document.hidden) await this.ask();
    } catch {
      by("status").textContent = "the board's server does not answer";
    }
    setTimeout(() => this.poll(), this.rows.size && !this.loaded ? SOON : EVERY);
  }

  async ask() {
    const changes = await fetchJson("api/runs", [["since", this.version]]);
    if (changes.version < this.version) return location.reload(); // another server has taken the port
    this.version = changes.version;
    changes.gone.forEach((name) => this.rows.delete(name));
    changes.runs.forEach((row) => this.rows.set(row.name, row));
    this.list.update(changes.runs, changes.gone, this.rows);
    const before = this.selected.join("\n");
    this.selected = this.selected.filter((name) => this.rows.has(name));
    if (!this.isChosen && !before) this.selectFirst();
    this.list.mark(this.selected);
    this.showStatus();
    const touched = [...changes.gone, ...changes.runs.map((row) => row.name)];
    const isNew = before !== this.selected.join("\n") || (this.selected.length > 0 && !this.loaded);
    if (isNew || touched.some((name) => this.selected.includes(name))) await this.load();
  }

  // The newest runs of the environment that trains now, or else was trained last; once enough of them have been read.
  selectFirst() {
    const rows = [...this.rows.values()];
    const read = rows.filter((row) => row.state !== "reading");
    if (read.length < Math.min(rows.length, SELECTED_AT_FIRST)) return;
    const training = (row) => (row.state === "training" ? 1 : 0);
    const sorted = read.sort((a, b) => training(b) - training(a) || b.modified - a.modified);
    const alike = sorted.filter((row) => row.title === sorted[0].title);
    this.selected = alike.slice(0, SELECTED_AT_FIRST).map((row) => row.name);
  }

  showStatus() {
    const rows = [...this.rows.values()];
    const count = (state) => rows.filter((row) => row.state === state).length;
    const parts = [`${rows.length} run${rows.length === 1 ? "" : "s"}`];
    for (const state of ["training", "unreadable"]) if (count(state)) parts.push(`${count(state)} ${state}`);
    if (count("reading")) parts.push(`${count("reading")} still to be read`);
    by("status").textContent = rows.length ? parts.join(", ") : "no runs yet: warpworld train starts one";
  }

  async load() {
    const load = ++this.loads;
    this.loaded = true;
    const runs = this.selected.map((name) => ["run", name]);
    const curves = await this.ofMain(runs);
    const about = await fetchJson("api/about", runs);
    if (load !== this.loads) return;
    this.curves = curves;
    this.labels = Object.fromEntries(about.names.map((name, i) => [name, about.labels[i]]));
    showSettings(by("settings"), about);
    showLeagues(by("league"), about);
    this.replays.show(this.selected.map((name) => this.rows.get(name)).filter(Boolean));
    this.draw();
  }

  // Curves of the main metrics and of those that the reader added. Which there are is known from the last answer; where
  // the runs turn out to have others, they are asked for as well.
  async ofMain(runs) {
    const wanted = (curves) => {
      const known = Object.values(curves).flatMap((run) => run.metrics ?? []);
      return [...new Set(known)].filter((name) => isMain(name) || this.extra.includes(name));
    };
    const ask = (names) => fetchJson("api/curves", [...runs, ...names.map((name) => ["metric", name])]);
    const first = wanted(this.curves);
    const found = await ask(first);
    const all = wanted(found);
    return all.some((name) => !first.includes(name)) ? ask(all) : found;
  }

  // ---- curves -------------------------------------------------------------------------------------------------------
  draw() {
    this.drawLegend();
    const metrics = [...new Set(Object.values(this.curves).flatMap((run) => Object.keys(run.curves ?? {})))];
    const panels = metrics.sort((a, b) => rank(a) - rank(b)).map((metric) => this.panel(metric));
    by("panels").replaceChildren(...panels);
    this.drawMore();
  }

  drawLegend() {
    const entries = this.selected.map((name, i) => {
      const entry = document.createElement("span");
      element("i", `spot ${colourOf(i)}`, entry);
      const { problem, damaged = [] } = this.curves[name] ?? {};
      entry.append([this.labels[name] ?? name, ...(problem ? [problem] : damaged)].join(": "));
      return entry;
    });
    by("legend").replaceChildren(...entries);
  }

  panel(metric) {
    const figure = document.createElement("figure");
    figure.className = "panel";
    const [title, unit] = headingOf(metric);
    element("span", "quiet", element("figcaption", "", figure, title), ` ${unit}`);
    const raw = this.selected.map((name, i) => this.line(name, metric, i)).filter((line) => line.y.some((value) => value !== null));
    if (!raw.length) {
      element("p", "nothing", figure, by("x").value === "seconds" ? "no times logged" : "nothing logged");
      return figure;
    }
    const share = Number(by("smooth").value);
    const lines = raw.map((line) => ({ ...line, y: smoothed(line.y, share) }));
    figure.append(drawChart(lines, share ? raw : [], by("x").value === "seconds" ? duration : short));
    return figure;
  }

  line(name, metric, index) {
    const curve = this.curves[name]?.curves?.[metric] ?? { steps: [], seconds: [], values: [] };
    const xs = curve[by("x").value];
    const known = xs.map((x, i) => [x, curve.values[i]]).filter(([x]) => x !== null);
    return { colour: colourOf(index), x: known.map(([x]) => x), y: known.map(([, y]) => y) };
  }

  drawMore() {
    const names = [...new Set(Object.values(this.curves).flatMap((run) => run.metrics ?? []))];
    const others = names.filter((name) => !isMain(name) && !NO_CURVES.includes(name));
    by("more").hidden = !others.length;
    const boxes = others.map((name) => {
      const label = document.createElement("label");
      const box = element("input", "", label);
      [box.type, box.checked] = ["checkbox", this.extra.includes(name)];
      box.addEventListener("change", () => {
        this.extra = box.checked ? [...this.extra, name] : this.extra.filter((other) => other !== name);
        this.keep();
        this.load();
      });
      label.append(` ${name}`);
      return label;
    });
    by("more").querySelector("div").replaceChildren(...boxes);
  }
}

const isMain = (name) => MAIN.some((pattern) => pattern.test(name));
const rank = (name) => MAIN.findIndex((pattern) => pattern.test(name)) >>> 0; // others behind

function headingOf(metric) {
  const found = HEADINGS.find(([pattern]) => pattern.test(metric));
  return found ? [metric.replace(found[0], found[1]).replaceAll("_", " "), found[2]] : [metric, ""];
}

async function fetchJson(path, words) {
  const answer = await fetch(`${path}?${new URLSearchParams(words)}`);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

new Board().poll();
