// The list of runs: a line each, filtered, sorted and chosen from. Names and problems are text, never markup.

const MOST_SELECTED = 12;
const COUNTED = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

const bestReturn = (run) => Math.max(...Object.values(run.returns).map((found) => found.best), -Infinity);
const ORDERS = {
  newest: (a, b) => b.modified - a.modified,
  name: (a, b) => (a.name < b.name ? -1 : 1),
  best: (a, b) => bestReturn(b) - bestReturn(a) || 0,
  steps: (a, b) => b.env_steps - a.env_steps,
  speed: (a, b) => (b.speed ?? -1) - (a.speed ?? -1),
};

function element(tag, name, parent, text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = text;
  parent.append(made);
  return made;
}

class RunList {
  constructor(list, choose) {
    this.list = list;
    this.choose = choose;
    this.lines = new Map(); // name -> {item, box, name, state, about}
    this.order = "newest";
    this.filter = "";
  }

  // Shows rows that are new or have changed, and takes away those that are gone.
  update(rows, gone, all) {
    gone.forEach((name) => {
      this.lines.get(name)?.item.remove();
      this.lines.delete(name);
    });
    rows.forEach((row) => this.show(row));
    this.arrange(all);
  }

  show(row) {
    const line = this.lines.get(row.name) ?? this.make(row.name);
    line.state.textContent = row.state;
    line.state.className = `state ${row.state}`;
    line.about.textContent = row.problem || [describe(row), row.note].filter(Boolean).join(" · ");
  }

  make(name) {
    const item = document.createElement("li");
    const label = element("label", "", item);
    const box = element("input", "", label);
    box.type = "checkbox";
    box.addEventListener("change", () => this.choose(name, box.checked));
    const title = element("b", "", label, name);
    title.title = name;
    const line = { item, label, box, state: element("span", "state", label), about: element("span", "quiet", label) };
    this.lines.set(name, line);
    return line;
  }

  // Puts the lines in order and hides those that the filter leaves out.
  arrange(all) {
    const sorted = [...all.values()].sort(ORDERS[this.order]);
    const items = sorted.map((row) => this.lines.get(row.name).item);
    if (items.some((item, i) => this.list.children[i] !== item)) this.list.replaceChildren(...items);
    const wanted = this.filter.toLowerCase();
    for (const row of sorted) {
      this.lines.get(row.name).item.hidden = !`${row.name} ${row.title} ${row.state}`.toLowerCase().includes(wanted);
    }
  }

  mark(selected) {
    for (const [name, { box, label }] of this.lines) {
      const index = selected.indexOf(name);
      box.checked = index >= 0;
      box.disabled = index < 0 && selected.length >= MOST_SELECTED;
      label.className = index < 0 ? "" : colourOf(index);
    }
  }
}

function describe(row) {
  if (row.state === "reading") return "";
  const share = row.total ? `${Math.floor((100 * row.env_steps) / row.total)}% of ` : "";
  const parts = [`${share}${COUNTED.format(row.total || row.env_steps)} env steps`];
  for (const [policy, { last, best }] of Object.entries(row.returns)) {
    parts.push(`${policy} ${short(last)} (best ${short(best)})`);
  }
  if (row.speed !== null) parts.push(`${COUNTED.format(row.speed)} steps/s`);
  return parts.join(" · ");
}
