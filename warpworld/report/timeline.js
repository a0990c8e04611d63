// The strip below a replay: returns over the frames, of each group and of the chosen agent, with numbers at its edges.

const STRIP_MARGIN = 8; // half of the slider's thumb, so that the line stands below it
const STRIP_FOOT = 15; // height of the line of step numbers
const FONT = "10.5px system-ui, sans-serif";
const DASHES = [4, 3]; // of the chosen agent's line

// The mean over each group's agents of a row of numbers; rows of older pages hold the means themselves.
function groupMeans(groups, row) {
  return groups.map((group, g) => {
    if (group.first === undefined) return row[g];
    return members(group).reduce((sum, agent) => sum + row[agent], 0) / group.size;
  });
}

class Timeline {
  constructor(recording, canvas, colour) {
    const { returns } = recording.frames;
    this.recording = recording;
    this.canvas = canvas;
    this.colour = colour;
    this.last = Math.max(returns.length - 1, 1);
    this.means = returns.map((row) => groupMeans(recording.groups, row));
  }

  // The frame under a place on the page.
  frameAt(clientX) {
    const box = this.canvas.getBoundingClientRect();
    return Math.round(((clientX - box.left - STRIP_MARGIN) / (box.width - 2 * STRIP_MARGIN)) * this.last);
  }

  paint(frame, chosen) {
    const { canvas, colour } = this;
    const context = canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [canvas.width / ratio, canvas.height / ratio];
    const lines = this.lines(chosen);
    const values = lines.flatMap((line) => line.values);
    const [low, high] = [values.reduce((a, b) => Math.min(a, b), 0), values.reduce((a, b) => Math.max(a, b), 0)];
    const bottom = height - STRIP_FOOT;
    const x = (i) => STRIP_MARGIN + (i / this.last) * (width - 2 * STRIP_MARGIN);
    const y = (value) => bottom - 2 - ((value - low) / (high - low || 1)) * (bottom - 6);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    stroke(context, colour("grid"), 1, [[x(0), y(0)], [x(this.last), y(0)]]);
    for (const [start] of this.episodes().slice(1)) {
      stroke(context, colour("grid"), 1, [[x(start - 0.5), 0], [x(start - 0.5), bottom]]);
    }
    for (const line of lines) {
      for (const [start, end] of this.episodes()) {
        const points = line.values.slice(start, end).map((value, k) => [x(start + k), y(value)]);
        stroke(context, colour(line.colour), 1.5, points, line.dashes);
      }
    }
    stroke(context, colour("ink"), 1, [[x(frame), 0], [x(frame), bottom]]);
    this.edge(context, brief(high), x(0), 9, x(frame));
    if (low < 0) this.edge(context, brief(low), x(0), bottom - 3, x(frame));
    this.steps(context, x, height - 3);
  }

  lines(chosen) {
    const { groups, frames } = this.recording;
    const values = (rows, i) => rows.map((row) => row[i]);
    const lines = groups.map((group, g) => ({ colour: group.name, values: values(this.means, g), dashes: [] }));
    const own = () => ({ colour: "ink", values: values(frames.returns, chosen), dashes: DASHES });
    return chosen === null ? lines : [...lines, own()];
  }

  // [first frame, frame behind the last] of each episode.
  episodes() {
    const { episode } = this.recording.frames;
    const starts = episode.flatMap((number, i) => (i && number === episode[i - 1] ? [] : [i]));
    return starts.map((start, k) => [start, starts[k + 1] ?? episode.length]);
  }

  // Step numbers at the ends of episodes, as far as they do not touch.
  steps(context, x, y) {
    this.number(context, "step 0", x(0), y, "left");
    let free = x(0) + 48;
    for (const [, end] of this.episodes()) {
      const text = `${this.recording.frames.timestep[end - 1]}`;
      const [right, width] = [x(end - 1), context.measureText(text).width];
      if (right - width < free) continue;
      this.number(context, text, right, y, "right");
      free = right + 8;
    }
  }

  // A number at the left edge; it steps aside where the line of the present frame would strike it through.
  edge(context, text, x, y, present) {
    context.font = FONT;
    const isStruck = present <= x + context.measureText(text).width + 2;
    this.number(context, text, isStruck ? present + 4 : x, y, "left");
  }

  number(context, text, x, y, align) {
    context.font = FONT;
    context.textAlign = align;
    context.textBaseline = "alphabetic";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.setLineDash([]);
    context.strokeStyle = this.colour("paper");
    context.strokeText(text, x, y);
    context.fillStyle = this.colour("muted");
    context.fillText(text, x, y);
  }
}

function stroke(context, colour, width, points, dashes = []) {
  context.beginPath();
  points.forEach((point) => context.lineTo(...point));
  context.setLineDash(dashes);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.lineJoin = "round";
  context.stroke();
}

// A number in few letters: 1234.5 as 1234, 0.12345 as 0.1235.
function brief(value) {
  if (!Number.isFinite(value)) return "-";
  const whole = Number.isInteger(value) || Math.abs(value) >= 1000;
  return whole ? `${Math.round(value)}` : `${Number(value.toPrecision(4))}`;
}
