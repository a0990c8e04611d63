// Plays a game: asks the server for a step at a steady pace, or when a choice is made, and draws the frame that it answers.

const ENDS = { terminated: "The game is over.", truncated: "Time is up." };
const RATES = [1, 2, 5, 10, 20, 30, 60]; // steps a second, besides the environment's own
const GONE = "The server does not answer: is warpworld play still running?";
const EARLY = 4; // milliseconds by which a step may come before it is due: a screen's frames are not exact

const at = (id) => document.getElementById(id);

async function ask(path, body) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

class Game {
  constructor(about) {
    this.about = about;
    this.seat = about.seat;
    this.busy = false;
    this.taken = 0; // steps
    this.recording = { colours: about.colours, marks: [], frames: { view: [], marks: [], places: null } };
    this.controls = new Controls(about.heads, at("buttons"), () => this.pressed());
    this.waits = about.heads.some((head) => !head.rests); // for keys, rather than going on by itself
    this.hovered = null;
    this.entries = about.groups.map((group) => this.entry(group));
    at("who").textContent = `${[`You play ${about.name}`, ...about.others].join("; ")}.`;
    this.setRates(about.frame.seconds);
    this.receive(about.frame);
    this.listen();
    this.cover(this.waits ? null : "Ready?", "Start");
    requestAnimationFrame((now) => this.tick(now));
  }

  // ---- elements -----------------------------------------------------------------------------------------------------
  entry(group) {
    const entry = part("span", "group", at("scores"));
    const spot = part("canvas", "", entry);
    part("span", "", entry, group.size > 1 ? `${group.size} × ${group.name}` : group.name);
    return { group, spot, value: part("b", "", entry) };
  }

  setRates(seconds) {
    const own = 1 / seconds;
    for (const rate of [...new Set([...RATES, own])].sort((a, b) => a - b)) {
      const option = part("option", "", at("rate"), Number(rate.toPrecision(2)));
      option.value = rate;
      option.selected = rate === own;
    }
  }

  listen() {
    at("pause").addEventListener("click", () => this.pause());
    at("again").addEventListener("click", () => this.again());
    at("cover-button").addEventListener("click", () => this.go());
    at("rate").addEventListener("change", () => at("rate").blur()); // so that arrow keys play again
    at("own-eyes").addEventListener("change", (event) => {
      event.target.blur();
      document.body.classList.toggle("eyes-only", event.target.checked);
      this.paint();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.pause();
      else if (event.key === "Enter" && !event.target.closest("button, a, select, input")) this.go();
    });
    document.addEventListener("visibilitychange", () => document.hidden && !this.waits && this.pause());
    at("picture").addEventListener("pointermove", (event) => this.hover(this.choiceAt(event)));
    at("picture").addEventListener("pointerleave", () => this.hover(null));
    at("picture").addEventListener("pointerdown", (event) => {
      const choice = this.choiceAt(event);
      if (choice !== null) this.controls.tap(0, choice);
    });
    new ResizeObserver(() => this.paint()).observe(document.body);
    darkness.addEventListener("change", () => this.paint());
  }

  // ---- what is shown ------------------------------------------------------------------------------------------------
  receive(frame) {
    const { recording } = this;
    if (!frame.known) {
      recording.marks = [];
      this.painter = new Painter(recording, at("picture"));
    }
    recording.marks.push(...frame.marks);
    recording.frames = { view: [frame.view], marks: [frame.shown], places: frame.places && [frame.places] };
    this.frame = frame;
    this.controls.show(this.isOver ? frame.legal.map((head) => head.map(() => false)) : frame.legal);
    at("eyes").hidden = !frame.sight;
    this.paint();
    this.tell();
  }

  paint() {
    const [left, bottom, right, top] = this.frame.view;
    at("stage").style.setProperty("--aspect", (right - left) / Math.abs(top - bottom));
    fit(at("picture"));
    this.painter.paint(0, this.about.agent);
    this.outline();
    this.paintSight();
    const { returns } = this.frame;
    for (const { group, spot, value } of this.entries) {
      spot.style.background = this.painter.colour(group.name);
      const own = Array.from({ length: group.size }, (_, i) => returns[group.first + i * group.stride]);
      value.textContent = (own.reduce((sum, one) => sum + one, 0) / group.size).toFixed(2);
    }
  }

  paintSight() {
    const { sight } = this.frame;
    at("sight").hidden = !sight;
    if (!sight) return;
    const [left, bottom, right, top] = sight.view;
    at("sight").style.setProperty("--sight-aspect", (right - left) / Math.abs(top - bottom));
    fit(at("sight"));
    const frames = { view: [sight.view], marks: [sight.shown], places: null };
    new Painter({ colours: this.about.colours, marks: sight.marks, frames }, at("sight")).paint(0, null);
  }

  // The outline of the choice below the pointer.
  outline() {
    const place = this.hovered !== null && this.frame.choices?.[this.hovered];
    if (!place || place.includes(null)) return;
    const { scale, up, right, down } = this.painter.transform(0);
    const [x, y, toX, toY] = place;
    const context = at("picture").getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    context.strokeStyle = this.painter.colour("ink");
    context.lineWidth = 2 * (window.devicePixelRatio || 1);
    context.strokeRect(scale * x + right, up * scale * y + down, scale * (toX - x), up * scale * (toY - y));
  }

  tell(note = "") {
    const { timestep, episode, returns } = this.frame;
    const own = Number(returns[this.about.agent].toPrecision(4));
    const turn = this.waits && !this.isOver && !this.isAutomatic ? ", your turn" : "";
    const out = this.frame.is_out && !this.isOver ? ", you are out" : "";
    at("state").textContent = note || `game ${episode}, step ${timestep}, your return ${own}${turn}${out}`;
    if (this.isOver) this.cover(`${ENDS[this.frame.end]} Your return: ${own}`, "Again");
  }

  cover(text, action) {
    at("cover").hidden = text === null;
    at("cover-text").textContent = text ?? "";
    at("cover-button").textContent = action ?? "";
    at("pause").disabled = text !== null;
  }

  // ---- taps on the picture ------------------------------------------------------------------------------------------
  choiceAt(event) {
    if (!this.frame.choices) return null;
    const box = at("picture").getBoundingClientRect();
    const ratio = at("picture").width / box.width;
    const { scale, up, right, down } = this.painter.transform(0);
    const x = ((event.clientX - box.left) * ratio - right) / scale;
    const y = ((event.clientY - box.top) * ratio - down) / (up * scale);
    const found = this.frame.choices.findIndex(
      ([left, bottom, end, top]) => left !== null && x >= left && x < end && y >= bottom && y < top,
    );
    return found >= 0 && this.frame.legal[0][found] ? found : null;
  }

  hover(choice) {
    at("picture").style.cursor = choice === null ? "" : "pointer";
    if (choice === this.hovered) return;
    this.hovered = choice;
    this.paint();
  }

  // ---- time ---------------------------------------------------------------------------------------------------------
  get isOver() {
    return Boolean(this.frame.end);
  }

  get isCovered() {
    return !at("cover").hidden;
  }

  // Whether the next step needs no choice: the agent is out, or at most one choice of each head is legal.
  get isAutomatic() {
    return this.frame.is_out || this.frame.legal.every((head) => head.filter(Boolean).length < 2);
  }

  pressed() {
    if (this.isCovered && !this.isOver) this.go();
  }

  go() {
    if (!this.isCovered) return;
    if (this.isOver) this.again();
    else this.cover(null);
  }

  pause() {
    if (!this.isCovered) this.cover("Paused", "Go on");
  }

  tick(now) {
    requestAnimationFrame((later) => this.tick(later));
    if (this.busy || this.isCovered || this.isOver || now + EARLY < this.due) return;
    const isAutomatic = this.isAutomatic;
    const choices = this.frame.is_out ? this.frame.legal.map(firstLegal) : this.controls.choices(this.frame.legal);
    if (choices.includes(null)) return;
    const interval = 1000 / Number(at("rate").value);
    this.due = Math.max((this.due ?? now) + interval, now);
    this.controls.taken(isAutomatic);
    this.act("api/step", { choices });
  }

  again() {
    this.cover(null);
    this.controls.release();
    this.act("api/again", {});
  }

  async act(path, body) {
    if (this.busy) return;
    this.busy = true;
    try {
      const frame = await ask(path, { seat: this.seat, ...body });
      this.taken += path === "api/step";
      this.receive(frame);
      if (frame.saved?.length) this.tell(`saved: ${frame.saved.join(", ")}`);
      document.body.dataset.steps = this.taken;
    } catch (error) {
      this.cover(error instanceof TypeError ? GONE : error.message, "Go on");
    }
    this.busy = false;
  }
}

const firstLegal = (legal) => Math.max(legal.indexOf(true), 0);

// As many pixels as the canvas takes on the screen.
function fit(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((size) => Math.max(1, Math.round(size * ratio)));
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
}

document.addEventListener("DOMContentLoaded", async () => {
  try {
    new Game(await ask("api/start", {}));
  } catch (error) {
    at("state").textContent = `The game cannot be started: ${error.message}`;
  }
});
