// Plays recordings: every element of class "replay" holds one as JSON (what encoding.py writes) in a <script>.
//
// A frame is drawn from nothing each time, so that any frame can be shown at any size. Keys: space plays and pauses,
// arrows step (with shift ten frames), Home and End. The address may end in #frame=17, also with &speed=2 or &play.
"use strict";

(() => {
  const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
  const PAUSE_AT_END = 0.7; // seconds for which the last frame of an episode stays
  const ENDS = { terminated: "the game is over", truncated: "time is up" };
  const ICONS = {
    play: "M6 4l14 8-14 8z",
    pause: "M6 4h4v16H6zM14 4h4v16h-4z",
    back: "M18 5v14l-10-7zM5 5h2v14H5z",
    forward: "M6 5v14l10-7zM17 5h2v14h-2z",
  };

  // ---- marks: what each kind looks like, in the env's own units ------------------------------------------------------
  const paths = {
    Discs(path, at) {
      path.moveTo(at("x") + at("radius"), at("y"));
      path.arc(at("x"), at("y"), at("radius"), 0, 2 * Math.PI);
    },
    Rectangles(path, at) {
      path.rect(at("x"), at("y"), at("width"), at("height"));
    },
    Arrowheads(path, at) {
      const along = [Math.cos(at("direction")), Math.sin(at("direction"))];
      const corner = (ahead, aside) => [
        at("x") + at("length") * (ahead * along[0] - aside * along[1]),
        at("y") + at("length") * (ahead * along[1] + aside * along[0]),
      ];
      path.moveTo(...corner(0.6, 0));
      path.lineTo(...corner(-0.4, 0.36));
      path.lineTo(...corner(-0.2, 0));
      path.lineTo(...corner(-0.4, -0.36));
      path.closePath();
    },
    Wedges(path, at) {
      path.moveTo(at("x"), at("y"));
      const half = at("angle") / 2;
      path.arc(at("x"), at("y"), at("radius"), at("direction") - half, at("direction") + half);
      path.closePath();
    },
    Segments(path, at) {
      path.moveTo(at("x"), at("y"));
      path.lineTo(at("to_x"), at("to_y"));
    },
    Polyline(path, at, i) {
      i === 0 ? path.moveTo(at("x"), at("y")) : path.lineTo(at("x"), at("y"));
    },
    Polygon(path, at, i, count) {
      paths.Polyline(path, at, i);
      if (i === count - 1) path.closePath();
    },
  };

  const first = (value) => (Array.isArray(value) ? value[0] : value);

  function numberOf(mark) {
    const column = Object.values(mark).find(Array.isArray);
    return column ? column.length : 1;
  }

  // Calls `visit` for each thing that a mark draws, with a function from a column's name to the thing's number.
  function eachOf(mark, visit) {
    const count = numberOf(mark);
    for (let i = 0; i < count; i++) {
      visit((name) => (Array.isArray(mark[name]) ? mark[name][i] : mark[name]), i, count);
    }
  }

  function pathOf(mark) {
    const path = new Path2D();
    eachOf(mark, (...thing) => paths[mark.kind](path, ...thing));
    return path;
  }

  function bitmapOf(mark) {
    const bytes = atob(mark.pixels);
    const canvas = document.createElement("canvas");
    canvas.height = mark.rows;
    canvas.width = bytes.length / 3 / mark.rows;
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    for (let i = 0; i < bytes.length / 3; i++) {
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = bytes.charCodeAt(3 * i + c);
      image.data[4 * i + 3] = 255;
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }

  // ---- a frame on a canvas -------------------------------------------------------------------------------------------
  class Painter {
    constructor(recording, canvas) {
      this.recording = recording;
      this.canvas = canvas;
      this.bitmaps = new Map();
    }

    colour(name) {
      const pair = this.recording.colours[name];
      return pair ? pair[isDark() ? 1 : 0] : name;
    }

    paint(frame) {
      const { view, marks } = this.recording.frames;
      const [left, bottom, right, top] = view[view.length === 1 ? 0 : frame];
      const { canvas } = this;
      const context = canvas.getContext("2d");
      const scale = Math.min(canvas.width / (right - left), canvas.height / Math.abs(top - bottom));
      const up = top > bottom ? -1 : 1;
      const x = canvas.width / 2 - (scale * (left + right)) / 2;
      const y = canvas.height / 2 - (up * scale * (bottom + top)) / 2;
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, canvas.width, canvas.height);
      for (const index of marks[frame]) {
        context.setTransform(scale, 0, 0, up * scale, x, y);
        this.paintMark(context, this.recording.marks[index], scale, up);
      }
    }

    paintMark(context, mark, scale, up) {
      context.globalAlpha = mark.opacity;
      if (!numberOf(mark)) return;
      if (mark.kind === "Text") return mark.fill && this.paintText(context, mark, up);
      if (mark.kind === "Image") return this.paintImages(context, mark, up);
      const path = pathOf(mark);
      if (mark.fill) {
        context.fillStyle = this.colour(mark.fill);
        context.fill(path);
      }
      if (mark.outline) {
        context.strokeStyle = this.colour(mark.outline);
        context.lineWidth = Math.max(mark.line_width, 1 / scale);
        context.lineJoin = "round";
        context.stroke(path);
      }
    }

    paintText(context, mark, up) {
      context.translate(first(mark.x), first(mark.y));
      context.scale(mark.size / 16, (up * mark.size) / 16); // a font of less than a pixel would not be drawn
      context.font = "16px system-ui, sans-serif";
      context.textAlign = mark.align;
      context.textBaseline = "middle";
      context.fillStyle = this.colour(mark.fill);
      context.fillText(mark.text, 0, 0);
    }

    paintImages(context, mark, up) {
      if (!this.bitmaps.has(mark)) this.bitmaps.set(mark, bitmapOf(mark));
      context.imageSmoothingEnabled = false;
      context.scale(1, up); // the top row is the picture's, wherever y points
      eachOf(mark, (at) => {
        const top = up < 0 ? -at("y") - at("height") : at("y");
        context.drawImage(this.bitmaps.get(mark), at("x"), top, at("width"), at("height"));
      });
    }
  }

  // ---- returns over time, below the picture --------------------------------------------------------------------------
  function paintTimeline(canvas, recording, frame, colour) {
    const context = canvas.getContext("2d");
    const { returns, episode } = recording.frames;
    const [width, height, pixel] = [canvas.width, canvas.height, window.devicePixelRatio || 1];
    const values = returns.flat();
    const [low, high] = [Math.min(0, ...minMax(values)), Math.max(0, ...minMax(values))];
    const last = Math.max(returns.length - 1, 1);
    const margin = 8 * pixel; // half of the slider's thumb, so that the line stands below it
    const x = (i) => margin + (i / last) * (width - 2 * margin);
    const y = (value) => height - 4 * pixel - ((value - low) / (high - low || 1)) * (height - 8 * pixel);
    context.clearRect(0, 0, width, height);
    line(context, colour("grid"), pixel, [[x(0), y(0)], [x(last), y(0)]]);
    episode.forEach((number, i) => {
      if (i && number !== episode[i - 1]) line(context, colour("grid"), pixel, [[x(i - 0.5), 0], [x(i - 0.5), height]]);
    });
    recording.groups.forEach((group, g) => {
      for (let start = 0, i = 1; i <= episode.length; i++) {
        if (i < episode.length && episode[i] === episode[start]) continue;
        const points = returns.slice(start, i).map((row, k) => [x(start + k), y(row[g])]);
        line(context, colour(group.name), 1.5 * pixel, points);
        start = i;
      }
    });
    line(context, colour("ink"), pixel, [[x(frame), 0], [x(frame), height]]);
  }

  function line(context, colour, width, points) {
    context.beginPath();
    points.forEach((point) => context.lineTo(...point));
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.stroke();
  }

  const minMax = (values) => values.reduce(([low, high], v) => [Math.min(low, v), Math.max(high, v)], [0, 0]);

  // ---- the player ----------------------------------------------------------------------------------------------------
  class Player {
    constructor(root) {
      this.root = root;
      this.recording = JSON.parse(root.querySelector("script").textContent);
      this.frame = 0;
      this.speed = 1;
      this.playing = false;
      this.build();
      this.painter = new Painter(this.recording, this.canvas);
      new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
      darkness.addEventListener("change", () => this.show(this.frame));
      this.resize();
    }

    get last() {
      return this.recording.frames.timestep.length - 1;
    }

    build() {
      const { title, about, groups, drawn } = this.recording;
      const part = (tag, name, parent, text = "") => {
        const element = document.createElement(tag);
        element.className = name;
        element.textContent = text;
        parent.append(element);
        return element;
      };
      const heading = part("div", "replay-heading", this.root);
      part("strong", "", heading, title);
      part("span", "replay-about", heading, about);
      if (!drawn) part("span", "replay-about", heading, "It has no draw(): its arrays' values are shown.");
      const stage = part("div", "replay-stage", this.root);
      this.canvas = part("canvas", "", stage);
      this.canvas.setAttribute("role", "img");
      this.canvas.setAttribute("aria-label", `${title}, played step by step`);
      const legend = part("div", "replay-legend", this.root);
      this.swatches = [];
      this.returns = groups.map((group) => {
        const entry = part("span", "replay-group", legend);
        this.swatches.push(part("i", "", entry));
        part("span", "", entry, group.size > 1 ? `${group.size} × ${group.name}` : group.name);
        return part("b", "", entry);
      });
      part("span", "replay-about", legend, "return so far, mean of the group");
      this.timeline = part("canvas", "replay-timeline", this.root);
      this.slider = part("input", "replay-slider", this.root);
      Object.assign(this.slider, { type: "range", min: 0, max: this.last, step: 1, value: 0, ariaLabel: "frame" });
      const controls = part("div", "replay-controls", this.root);
      this.backButton = this.button(controls, "back", "one step back", () => this.pause(this.frame - 1));
      this.playButton = this.button(controls, "play", "play", () => this.toggle());
      this.forwardButton = this.button(controls, "forward", "one step on", () => this.pause(this.frame + 1));
      this.speeds = part("select", "", controls);
      this.speeds.ariaLabel = "speed";
      SPEEDS.forEach((speed) => (part("option", "", this.speeds, `${speed}×`).value = speed));
      this.state = part("output", "replay-state", controls);
      this.slider.addEventListener("input", () => this.pause(Number(this.slider.value)));
      this.speeds.addEventListener("change", () => (this.speed = Number(this.speeds.value)));
      this.root.addEventListener("pointerdown", () => (active = this));
      this.setSpeed(1);
    }

    button(parent, icon, label, action) {
      const button = document.createElement("button");
      button.type = "button";
      button.addEventListener("click", action);
      parent.append(button);
      setIcon(button, icon, label);
      return button;
    }

    setSpeed(speed) {
      if (!SPEEDS.includes(speed)) return;
      this.speed = speed;
      this.speeds.value = speed;
    }

    resize() {
      const [left, bottom, right, top] = this.recording.frames.view[0];
      this.canvas.parentElement.style.setProperty("--aspect", (right - left) / Math.abs(top - bottom));
      for (const canvas of [this.canvas, this.timeline]) {
        const ratio = window.devicePixelRatio || 1;
        canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
        canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
      }
      this.show(this.frame);
    }

    show(frame) {
      this.frame = Math.min(Math.max(Math.round(frame) || 0, 0), this.last);
      const { frames, groups } = this.recording;
      const colour = (name) => this.painter.colour(name);
      this.painter.paint(this.frame);
      paintTimeline(this.timeline, this.recording, this.frame, colour);
      this.slider.value = this.frame;
      groups.forEach((group, g) => {
        this.swatches[g].style.background = colour(group.name);
        this.returns[g].textContent = frames.returns[this.frame][g].toFixed(2);
      });
      const episodes = frames.episode[this.last];
      const end = ENDS[frames.end[this.frame]];
      this.state.textContent =
        `step ${frames.timestep[this.frame]}` +
        (episodes > 1 ? `, episode ${frames.episode[this.frame]} of ${episodes}` : "") +
        (end ? `: ${end}` : "");
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
      let frame = this.frame;
      for (; now >= this.due && this.frame < this.last; this.due += 1000 * this.duration()) this.frame++;
      if (now - this.due > 1000) this.due = now; // the page was hidden for a while
      if (this.frame !== frame) this.show(this.frame);
      this.frame === this.last ? this.pause() : requestAnimationFrame((later) => this.tick(later));
    }

    follow(address) {
      const wanted = new URLSearchParams(address.replace(/^#/, ""));
      if (wanted.has("speed")) this.setSpeed(Number(wanted.get("speed")));
      if (wanted.has("frame")) this.pause(Number(wanted.get("frame")));
      if (wanted.has("play")) this.play();
    }

    press(event) {
      const stride = event.shiftKey ? 10 : 1;
      const actions = {
        " ": () => this.toggle(),
        ArrowLeft: () => this.pause(this.frame - stride),
        ArrowRight: () => this.pause(this.frame + stride),
        Home: () => this.pause(0),
        End: () => this.pause(this.last),
      };
      const inControl = event.target.closest("select, button, input, textarea, summary");
      if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      if (inControl && !(inControl.type === "range" && event.key === " ")) return;
      event.preventDefault();
      actions[event.key]();
    }
  }

  function setIcon(button, icon, label) {
    button.innerHTML = `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[icon]}"/></svg>`;
    button.title = button.ariaLabel = label;
  }

  // ---- the page ------------------------------------------------------------------------------------------------------
  const darkness = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => darkness.matches;
  let active = null; // the player that keys go to

  document.addEventListener("DOMContentLoaded", () => {
    const players = [...document.querySelectorAll(".replay")].map((root) => new Player(root));
    if (!players.length) return;
    active = players[0];
    active.follow(window.location.hash);
    window.addEventListener("hashchange", () => active.follow(window.location.hash));
    document.addEventListener("keydown", (event) => active.press(event));
  });
})();
