// Draws a frame of a recording on a canvas, from nothing each time, so that any frame can be shown at any size.

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

// The pixels of an Image. On a dark `paper` a diagram has light and dark exchanged: white becomes the paper, hues stay.
function bitmapOf(mark, paper) {
  const bytes = bytesOf(mark.pixels);
  const canvas = document.createElement("canvas");
  canvas.height = mark.rows;
  canvas.width = bytes.length / 3 / mark.rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const ground = paper && [1, 3, 5].map((at) => parseInt(paper.slice(at, at + 2), 16));
  for (let i = 0; i < bytes.length / 3; i++) {
    const pixel = bytes.subarray(3 * i, 3 * i + 3);
    const shift = 255 - Math.max(...pixel) - Math.min(...pixel);
    for (let c = 0; c < 3; c++) {
      image.data[4 * i + c] = ground ? ground[c] + (pixel[c] + shift) * (1 - ground[c] / 255) : pixel[c];
    }
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

// ---- a frame on a canvas -------------------------------------------------------------------------------------------
const ZOOM = 2.5; // of a view that follows an agent
const RING = 11; // radius of the ring around a chosen agent, in pixels of the page

class Painter {
  constructor(recording, canvas) {
    this.recording = recording;
    this.canvas = canvas;
    this.bitmaps = { light: new Map(), dark: new Map() };
    this.followed = null; // the agent in the middle of the view
  }

  colour(name) {
    const pair = this.recording.colours[name];
    return pair ? pair[isDark() ? 1 : 0] : name;
  }

  // Where an agent is, in the env's units; null where it is nowhere.
  place(frame, agent) {
    const row = this.recording.frames.places?.[frame];
    if (!row || agent === null || row[agent] === null) return null;
    const [x, y] = [row[agent], row[agent + row.length / 2]];
    return y === null ? null : [x, y];
  }

  // From the env's units to the canvas's pixels: x -> scale * x + right, y -> up * scale * y + down.
  transform(frame) {
    const { view } = this.recording.frames;
    const [left, bottom, right, top] = view[view.length === 1 ? 0 : frame];
    const { width, height } = this.canvas;
    const middle = this.place(frame, this.followed);
    const [x, y] = middle ?? [(left + right) / 2, (bottom + top) / 2];
    const scale = (middle ? ZOOM : 1) * Math.min(width / (right - left), height / Math.abs(top - bottom));
    const up = top > bottom ? -1 : 1;
    return { scale, up, right: width / 2 - scale * x, down: height / 2 - up * scale * y };
  }

  pixel(frame, agent) {
    const place = this.place(frame, agent);
    const { scale, up, right, down } = this.transform(frame);
    return place && [scale * place[0] + right, up * scale * place[1] + down];
  }

  paint(frame, chosen) {
    const context = this.canvas.getContext("2d");
    const { scale, up, right, down } = this.transform(frame);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const index of this.recording.frames.marks[frame]) {
      context.setTransform(scale, 0, 0, up * scale, right, down);
      this.paintMark(context, this.recording.marks[index], scale, up);
    }
    const at = this.pixel(frame, chosen);
    if (at) this.paintRing(context, at);
  }

  paintRing(context, [x, y]) {
    const ratio = window.devicePixelRatio || 1;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    for (const [colour, width] of [["paper", 4], ["ink", 2]]) {
      context.beginPath();
      context.arc(x, y, RING * ratio, 0, 2 * Math.PI);
      context.strokeStyle = this.colour(colour);
      context.lineWidth = width * ratio;
      context.stroke();
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
    const known = this.bitmaps[isDark() ? "dark" : "light"];
    if (!known.has(mark)) known.set(mark, bitmapOf(mark, isDark() && mark.on_paper ? this.colour("paper") : null));
    context.imageSmoothingEnabled = false;
    context.scale(1, up); // the top row is the picture's, wherever y points
    eachOf(mark, (at) => {
      const top = up < 0 ? -at("y") - at("height") : at("y");
      context.drawImage(known.get(mark), at("x"), top, at("width"), at("height"));
    });
  }
}
