// Plays recordings: every element of class "replay" holds one as JSON (what encoding.py writes) in a <script>.
//
// The address may end in #frame=17, also with &agent=3, &follow, &speed=2, &loop or &play. KEYS lists what keys do.

const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const PAUSE_AT_END = 0.7; // seconds for which the last frame of an episode stays
const REACH = 24; // pixels of the page within which a pointer finds an agent
const ENDS = { terminated: "the game is over", truncated: "time is up" };
const ICONS = {
  play: "M6 4l14 8-14 8z",
  pause: "M6 4h4v16H6zM14 4h4v16h-4z",
  back: "M18 5v14l-10-7zM5 5h2v14H5z",
  forward: "M6 5v14l10-7zM17 5h2v14h-2z",
  loop: "M7 7h9V4l5 4-5 4V9H9v4H7zM17 17H8v3l-5-4 5-4v3h7v-4h2z",
  follow: "M11 2h2v4h-2zM11 18h2v4h-2zM2 11h4v2H2zM18 11h4v2h-4zM12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8z",
  link: "M9 8H7a4 4 0 0 0 0 8h2v2H7A6 6 0 0 1 7 6h2zM15 6h2a6 6 0 0 1 0 12h-2v-2h2a4 4 0 0 0 0-8h-2zM8 11h8v2H8z",
};
const SIDES = { above: "--series-0", below: "--series-1" }; // colours of numbers above and below 0
const KEYS = [
  ["space", "play, pause"],
  ["← →", "a step; with shift ten"],
  ["Home, End", "first and last frame"],
  ["- +", "slower, faster"],
  ["a, A", "next, previous agent"],
  ["f", "follow the agent"],
  ["l", "play again and again"],
  ["Esc", "no agent"],
];

let active = null; // the player that keys go to

class Player {
  constructor(root) {
    this.root = root;
    this.recording = JSON.parse(root.querySelector("script").textContent);
    this.agents = new Agents(this.recording);
    this.frame = 0;
    this.speed = 1;
    this.playing = false;
    this.looping = false;
    this.agent = null;
    this.build();
    this.painter = new Painter(this.recording, this.canvas);
    this.timeline = new Timeline(this.recording, this.strip, (name) => this.painter.colour(name));
    this.listen();
    this.setSpeed(1);
    if (this.agents.count === 1) this.agent = 0;
    this.resize();
  }

  get last() {
    return this.recording.frames.timestep.length - 1;
  }

  // ---- elements -----------------------------------------------------------------------------------------------------
  build() {
    const { title, about, drawn } = this.recording;
    const heading = part("div", "replay-heading", this.root);
    part("strong", "", heading, title);
    part("span", "replay-about", heading, about);
    if (!drawn) part("span", "replay-about", heading, "It has no draw(): its arrays' values are shown.");
    const main = part("div", "replay-main", this.root);
    const column = part("div", "replay-column", main);
    const stage = part("div", "replay-stage", column);
    this.canvas = part("canvas", "", stage);
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", `${title}, played step by step`);
    this.tip = part("div", "replay-tip", stage);
    this.tip.hidden = true;
    this.buildLegend(column);
    this.strip = part("canvas", "replay-timeline", column);
    this.slider = part("input", "replay-slider", column);
    Object.assign(this.slider, { type: "range", min: 0, max: this.last, step: 1, value: 0, ariaLabel: "frame" });
    this.buildControls(part("div", "replay-controls", column));
    if (!this.agents.count) return;
    this.panel = new Panel(part("aside", "replay-panel", main), this.agents, (agent) => this.choose(agent));
  }

  buildLegend(parent) {
    const legend = part("div", "replay-legend", parent);
    this.entries = this.recording.groups.map((group) => {
      const entry = part("span", "replay-group", legend);
      const spot = part("i", "", entry);
      const name = part("span", "", entry, group.size > 1 ? `${group.size} × ${group.name}` : group.name);
      return { group, spot, name, value: part("b", "", entry) };
    });
    part("span", "replay-about", legend, "return so far, mean of the group");
  }

  buildControls(controls) {
    this.button(controls, "back", "one step back", () => this.pause(this.frame - 1));
    this.playButton = this.button(controls, "play", "play", () => this.toggle());
    this.button(controls, "forward", "one step on", () => this.pause(this.frame + 1));
    this.speeds = part("select", "", controls);
    this.speeds.ariaLabel = "speed";
    SPEEDS.forEach((speed) => (part("option", "", this.speeds, `${speed}×`).value = speed));
    this.loopButton = this.button(controls, "loop", "play again and again", () => this.loop(!this.looping));
    this.followButton = this.button(controls, "follow", "follow the chosen agent", () => this.follow(!this.following));
    this.followButton.hidden = !this.recording.frames.places;
    this.linkButton = this.button(controls, "link", "link to this frame", () => this.link());
    this.state = part("output", "replay-state", controls);
    const keys = part("details", "replay-keys", controls);
    part("summary", "", keys, "Keys");
    const list = part("dl", "", keys);
    KEYS.forEach(([key, effect]) => (part("dt", "", list, key), part("dd", "", list, effect)));
  }

  button(parent, icon, label, action) {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", action);
    parent.append(button);
    setIcon(button, icon, label);
    return button;
  }

  listen() {
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
    darkness.addEventListener("change", () => this.show(this.frame));
    this.slider.addEventListener("input", () => this.pause(Number(this.slider.value)));
    this.speeds.addEventListener("change", () => (this.speed = Number(this.speeds.value)));
    this.root.addEventListener("pointerdown", () => (active = this));
    const scrub = (event) => this.pause(this.timeline.frameAt(event.clientX));
    this.strip.addEventListener("pointerdown", scrub);
    this.strip.addEventListener("pointermove", (event) => event.buttons && scrub(event));
    this.canvas.addEventListener("pointermove", (event) => this.point(this.agentAt(event)));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("click", (event) => this.choose(this.agentAt(event) ?? this.agent));
  }

  // ---- what is shown ------------------------------------------------------------------------------------------------
  resize() {
    const [left, bottom, right, top] = this.recording.frames.view[0];
    this.canvas.parentElement.style.setProperty("--aspect", (right - left) / Math.abs(top - bottom));
    for (const canvas of [this.canvas, this.strip]) {
      const ratio = window.devicePixelRatio || 1;
      canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
      canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    }
    this.show(this.frame);
  }

  show(frame) {
    this.frame = Math.min(Math.max(Math.round(frame) || 0, 0), this.last);
    this.painter.paint(this.frame, this.agent);
    this.timeline.paint(this.frame, this.agent);
    this.slider.value = this.frame;
    this.entries.forEach((entry, g) => this.showGroup(entry, this.timeline.means[this.frame][g]));
    const style = getComputedStyle(this.root);
    this.panel?.show(this.frame, this.agent, (side) => style.getPropertyValue(SIDES[side]).trim());
    this.showState();
  }

  showGroup({ group, spot, name, value }, mean) {
    const alive = group.first === undefined ? null : this.agents.alive(group, this.frame);
    spot.style.background = this.painter.colour(group.name);
    value.textContent = mean.toFixed(2);
    if (alive !== null) name.textContent = `${group.name}, ${alive} of ${group.size} alive`;
  }

  showState(note = "") {
    const { timestep, episode, end } = this.recording.frames;
    const episodes = episode[this.last];
    const ended = ENDS[end[this.frame]];
    this.state.textContent =
      `step ${timestep[this.frame]}` +
      (episodes > 1 ? `, episode ${episode[this.frame]} of ${episodes}` : "") +
      (ended ? `: ${ended}` : "") +
      note;
  }

  // ---- agents -------------------------------------------------------------------------------------------------------
  // The agent nearest to a pointer; null where none is within reach.
  agentAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const ratio = this.canvas.width / box.width;
    const [x, y] = [(event.clientX - box.left) * ratio, (event.clientY - box.top) * ratio];
    let [best, nearest] = [null, REACH * ratio];
    for (let agent = 0; agent < this.agents.count; agent++) {
      const at = this.painter.pixel(this.frame, agent);
      const distance = at ? Math.hypot(at[0] - x, at[1] - y) : Infinity;
      if (distance < nearest) [best, nearest] = [agent, distance];
    }
    return best;
  }

  point(agent) {
    this.tip.hidden = agent === null;
    if (agent !== null) this.tip.textContent = `${this.agents.name(agent)}: ${this.agents.summary(this.frame, agent)}`;
  }

  choose(agent) {
    const wanted = agent === null || !(agent >= 0 && agent < this.agents.count) ? null : Math.floor(agent);
    this.agent = wanted;
    if (wanted === null) this.follow(false);
    else if (this.following) this.follow(true);
    this.show(this.frame);
  }

  get following() {
    return this.painter.followed !== null;
  }

  follow(wanted) {
    if (wanted && this.agent === null && this.agents.count) this.agent = 0;
    this.painter.followed = wanted && this.recording.frames.places ? this.agent : null;
    press(this.followButton, this.following);
    this.show(this.frame);
    if (wanted && !this.following) this.showState("; nothing to follow: no mark of the drawing belongs to an agent");
  }

  // ---- time ---------------------------------------------------------------------------------------------------------
  setSpeed(speed) {
    if (!SPEEDS.includes(speed)) return;
    this.speed = speed;
    this.speeds.value = speed;
  }

  loop(wanted) {
    this.looping = wanted;
    press(this.loopButton, wanted);
  }

  pause(frame = this.frame) {
    this.playing = false;
    setIcon(this.playButton, "play", "play");
    this.show(frame);
  }

  play() {
    if (this.frame === this.last) this.show(0);
    this.playing = true;
    setIcon(this.playButton, "pause", "pause");
    this.due = performance.now() + 1000 * this.duration();
    requestAnimationFrame((now) => this.tick(now));
  }

  toggle() {
    this.playing ? this.pause() : this.play();
  }

  duration() {
    const { seconds, end } = this.recording.frames;
    return (seconds[seconds.length === 1 ? 0 : this.frame] + (end[this.frame] ? PAUSE_AT_END : 0)) / this.speed;
  }

  tick(now) {
    if (!this.playing) return;
    const last = this.looping ? this.last + 1 : this.last; // the last frame stays for its time before the first follows
    let frame = this.frame;
    for (; now >= this.due && frame < last; this.due += 1000 * this.duration()) {
      this.frame = Math.min(++frame, this.last);
    }
    if (now - this.due > 1000) this.due = now; // the page was hidden for a while
    if (frame > this.last) this.show(0);
    else if (this.frame !== Number(this.slider.value)) this.show(this.frame);
    !this.looping && this.frame === this.last ? this.pause() : requestAnimationFrame((later) => this.tick(later));
  }

  // ---- address and keys ---------------------------------------------------------------------------------------------
  open(address) {
    const wanted = new URLSearchParams(address.replace(/^#/, ""));
    const number = (name) => Number(wanted.get(name));
    if (wanted.has("speed")) this.setSpeed(number("speed"));
    if (wanted.has("agent")) this.choose(number("agent"));
    if (wanted.has("follow")) this.follow(true);
    if (wanted.has("loop")) this.loop(true);
    if (wanted.has("frame")) this.pause(number("frame"));
    if (wanted.has("play")) this.play();
    return wanted;
  }

  // Puts the address of what is shown into the address bar, and into the clipboard where the page may.
  link() {
    const words = [`frame=${this.frame}`];
    if (this.agent !== null) words.push(`agent=${this.agent}`);
    if (this.following) words.push("follow");
    if (this.speed !== 1) words.push(`speed=${this.speed}`);
    window.location.hash = words.join("&");
    const copied = navigator.clipboard?.writeText(window.location.href) ?? Promise.reject();
    copied.then(() => this.showState(": link copied"), () => this.showState(": the address is the link"));
  }

  press(event) {
    const stride = event.shiftKey ? 10 : 1;
    const faster = (by) => this.setSpeed(SPEEDS[SPEEDS.indexOf(this.speed) + by]);
    const { count } = this.agents;
    const next = (by) => count && this.choose(((this.agent ?? (by > 0 ? -1 : 0)) + by + count) % count);
    const actions = {
      " ": () => this.toggle(),
      ArrowLeft: () => this.pause(this.frame - stride),
      ArrowRight: () => this.pause(this.frame + stride),
      Home: () => this.pause(0),
      End: () => this.pause(this.last),
      "-": () => faster(-1),
      "+": () => faster(1),
      a: () => next(1),
      A: () => next(-1),
      f: () => this.follow(!this.following),
      l: () => this.loop(!this.looping),
      Escape: () => this.choose(null),
    };
    const inControl = event.target.closest("select, button, input, textarea, summary");
    if (!Object.hasOwn(actions, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (inControl && !(inControl.type === "range" && event.key === " ")) return;
    event.preventDefault();
    actions[event.key]();
  }
}

function setIcon(button, icon, label) {
  button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`;
  button.title = button.ariaLabel = label;
}

function press(button, pressed) {
  button.setAttribute("aria-pressed", pressed);
}

// Replays that are a page of their own play by themselves, unless the address names a frame or the reader wants no motion.
document.addEventListener("DOMContentLoaded", () => {
  const players = [...document.querySelectorAll(".replay")].map((root) => new Player(root));
  if (!players.length) return;
  active = players[0];
  const wanted = active.open(window.location.hash);
  const still = wanted.has("frame") || window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (document.body.classList.contains("replay-page") && !still) players.forEach((player) => player.play());
  window.addEventListener("hashchange", () => active.open(window.location.hash));
  document.addEventListener("keydown", (event) => active.press(event));
});
