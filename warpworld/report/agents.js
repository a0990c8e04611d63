// What one agent sees, does and gets at each frame: a panel beside the picture, and a line at the pointer.

const MOST_NUMBERS = 8; // that are written out; longer arrays are cells
const CELLS_WIDE = 32; // of an array of one dimension
const TYPES = {
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  int32: Int32Array,
  float32: Float32Array,
  float64: Float64Array,
};

// An array of a recording; its numbers are decoded when they are first asked for.
class Column {
  constructor(entry) {
    Object.assign(this, entry);
    this.size = entry.shape.reduce((product, n) => product * n, 1);
  }

  get ofAgents() {
    return this.first !== null;
  }

  // The numbers of a frame, of an agent where they are of agents; null where there are none.
  at(frame, agent) {
    this.numbers ??= new TYPES[this.dtype](bytesOf(this.data).buffer);
    const row = this.frames === 1 ? 0 : frame;
    const perFrame = this.numbers.length / this.frames;
    const index = this.ofAgents ? this.indexOf(agent, perFrame / this.size) : 0;
    if (index === null) return null;
    const start = row * perFrame + index * this.size;
    return this.numbers.subarray(start, start + this.size);
  }

  indexOf(agent, count) {
    const index = this.agents ? this.agents.indexOf(agent) : (agent - this.first) / (this.stride ?? 1);
    return Number.isInteger(index) && index >= 0 && index < count ? index : null;
  }
}

// The numbers of a group's agents; pages of older runs have no stride.
function members({ first, size, stride = 1 }) {
  return Array.from({ length: size }, (_, i) => first + i * stride);
}

class Agents {
  constructor(recording) {
    const { groups, arrays = [] } = recording;
    this.recording = recording;
    this.columns = arrays.map((entry) => new Column(entry));
    this.value = this.columns.find((column) => column.name === "value");
    this.aliveness = this.columns.find((column) => column.name === "alive");
    this.groups = groups.filter((group) => group.first !== undefined);
    const names = ["actions", ...this.groups.map((group) => `actions_${group.name}`)]; // of all, or one of each group
    this.actions = this.columns.filter((column) => column.ofAgents && names.includes(column.name));
    this.count = this.groups.reduce((sum, group) => sum + group.size, 0);
  }

  name(agent) {
    const group = this.groups.find((each) => members(each).includes(agent));
    return group.size > 1 ? `${group.name} ${members(group).indexOf(agent)}` : group.name;
  }

  // How many of a group take part; null where it is not recorded, or always all.
  alive(group, frame) {
    if (!this.aliveness) return null;
    return members(group).filter((agent) => this.aliveness.at(frame, agent)?.[0] !== 0).length;
  }

  // [name, text] of what an agent has got and done.
  facts(frame, agent) {
    const { rewards, returns, timestep } = this.recording.frames;
    const started = timestep[frame] > 0;
    const facts = [["reward", started ? brief(rewards[frame][agent]) : "-"], ["return", brief(returns[frame][agent])]];
    if (this.value) facts.push(["value", brief(this.value.at(frame, agent)?.[0])]);
    if (this.aliveness) facts.push(["alive", this.aliveness.at(frame, agent)?.[0] ? "yes" : "no"]);
    return facts;
  }

  action(frame, agent) {
    const values = this.actions.map((column) => column.at(frame, agent)).find((found) => found !== null);
    if (!values || !(this.recording.frames.timestep[frame] > 0)) return "-";
    const { actions, heads } = this.groups.find((each) => members(each).includes(agent)) ?? {};
    const names = heads ?? [actions ?? []];
    return [...values].map((value, i) => names[i]?.[value] ?? brief(value)).join(", ");
  }

  summary(frame, agent) {
    const facts = [...this.facts(frame, agent), ["action", this.action(frame, agent)]];
    return facts.map(([name, text]) => `${name} ${text}`).join(", ");
  }
}

// The panel: a choice of agents, what the chosen one has got, and every array, also those of the env.
class Panel {
  constructor(root, agents, choose) {
    this.agents = agents;
    this.title = part("div", "replay-choice", root);
    const label = part("label", "", this.title, "Agent ");
    this.choice = part("select", "", label);
    part("option", "", this.choice, "none").value = "";
    for (const group of agents.groups) {
      const choices = part("optgroup", "", this.choice);
      choices.label = group.name;
      for (const agent of members(group)) part("option", "", choices, agents.name(agent)).value = agent;
    }
    this.choice.addEventListener("change", () => choose(this.choice.value === "" ? null : Number(this.choice.value)));
    this.hint = part("p", "replay-about", root, "Choose an agent here or in the picture.");
    this.table = part("table", "replay-arrays", root);
    this.reading = part("output", "replay-about", root);
    const { left_out: leftOut = [] } = agents.recording;
    const missing = `Too large for this page, in whole or in part: ${leftOut.join(", ")}`;
    if (leftOut.length) part("p", "replay-about", root, missing);
  }

  show(frame, agent, colour) {
    this.choice.value = agent ?? "";
    this.hint.hidden = agent !== null || !this.agents.count;
    this.table.replaceChildren();
    if (agent !== null) this.agents.facts(frame, agent).forEach(([name, text]) => this.row(name, text));
    for (const column of this.agents.columns) {
      if (["value", "alive"].includes(column.name) || (column.ofAgents && agent === null)) continue;
      const values = column.at(frame, agent);
      const isAction = this.agents.actions.includes(column);
      if (!values) continue;
      if (isAction && this.agents.recording.frames.timestep[frame] === 0) this.row(column.name, "-");
      else if (values.length > MOST_NUMBERS) this.cells(column, values, colour);
      else this.row(column.name, isAction ? this.agents.action(frame, agent) : [...values].map(brief).join(", "));
    }
  }

  row(name, text = "") {
    const row = part("tr", "", this.table);
    part("th", "", row, name);
    return part("td", "", row, text);
  }

  cells({ name, dtype, shape }, values, colour) {
    this.row(name, shape.join(" × "));
    const cell = part("td", "", part("tr", "", this.table));
    cell.colSpan = 2;
    const canvas = part("canvas", "replay-cells", cell);
    const depth = dtype === "uint8" && shape.length === 3 && shape[2] === 3 ? 3 : 1; // numbers in a cell
    const rows = depth === 3 ? shape.slice(0, 2) : shape;
    const wide = rows.length > 1 ? rows.at(-1) : Math.min(CELLS_WIDE, values.length);
    paintCells(canvas, values, wide, depth, colour);
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const [across, down] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      const index = Math.floor(down * canvas.height) * wide + Math.floor(across * wide);
      const shown = [...values.subarray(depth * index, depth * (index + 1))].map(brief).join(", ");
      if (shown) this.reading.textContent = `${name}${indices(index, rows)} = ${shown}`;
    });
    canvas.addEventListener("pointerleave", () => (this.reading.textContent = ""));
  }
}

// The index of an entry as [row][column].
function indices(index, shape) {
  const parts = [];
  for (const size of [...shape].reverse()) {
    parts.unshift(`[${index % size}]`);
    index = Math.floor(index / size);
  }
  return parts.join("");
}

// A cell for each number: towards the first colour above 0, towards the second below it; or each pixel of a picture.
function paintCells(canvas, values, wide, depth, colour) {
  const count = values.length / depth;
  [canvas.width, canvas.height] = [wide, Math.ceil(count / wide)];
  canvas.style.aspectRatio = `${canvas.width} / ${canvas.height}`;
  const context = canvas.getContext("2d");
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0) || 1;
  for (let i = 0; i < count; i++) {
    const value = values[depth * i];
    context.globalAlpha = depth === 3 ? 1 : Math.min(Math.abs(value) / largest, 1) || 0;
    context.fillStyle =
      depth === 3 ? `rgb(${values.subarray(3 * i, 3 * i + 3).join(" ")})` : colour(value < 0 ? "below" : "above");
    context.fillRect(i % wide, Math.floor(i / wide), 1, 1);
  }
}
