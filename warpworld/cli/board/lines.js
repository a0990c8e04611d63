// Charts of several runs over the same axes, as SVG that charts.js makes readable.

const SIZE = { width: 360, height: 200, left: 46, right: 18, top: 8, bottom: 24 };
const COLOURS = 6; // of the palette; further lines are dashed

const colourOf = (index) => `c${index % COLOURS}${index < COLOURS ? "" : " dashed"}`;

// About `count` round numbers from at most `low` to at least the last below `high`.
function ticks(low, high, count) {
  const span = [high - low, Math.abs(high), 1].find((size) => size > 1e-300);
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw * 0.999);
  const [first, last] = [Math.floor(low / step + 1e-9), Math.floor(high / step + 1e-9)];
  const count_ = Math.max(last, first + 1) - first + 1;
  return Array.from({ length: count_ }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

// Moving averages in which what lies further back counts less; 0 leaves the values as they are. null is a gap.
function smoothed(values, share) {
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    if (value === null) return null;
    [sum, weight] = [share * sum + (1 - share) * value, share * weight + (1 - share)];
    return sum / weight;
  });
}

// The parts of a line between its gaps, each a list of [x, y].
function unbroken({ x, y }) {
  const parts = [[]];
  x.forEach((value, i) => {
    if (y[i] !== null) parts.at(-1).push([value, y[i]]);
    else if (parts.at(-1).length) parts.push([]);
  });
  return parts.filter((part) => part.length);
}

// A chart of lines, each {colour, x, y}, where null for y is a gap; those in `faint` lie below without being read.
function drawChart(lines, faint, formatX) {
  const { width, height, left, right, top, bottom } = SIZE;
  const all = [...lines, ...faint];
  const xs = all.flatMap((line) => line.x);
  const ys = all.flatMap((line) => line.y).filter((value) => value !== null);
  const [furthest, low, high] = [extreme(Math.max, xs), extreme(Math.min, ys), extreme(Math.max, ys)];
  const [xTicks, yTicks] = [ticks(0, furthest, 4), ticks(low, high, 4)];
  const xAxis = [left, 0, width - right, Math.max(xTicks.at(-1), furthest)];
  const yAxis = [height - bottom, Math.min(yTicks[0], low), top, Math.max(yTicks.at(-1), high)];
  const at = ([start, first, end, last]) => (value) => start + ((value - first) / (last - first || 1)) * (end - start);
  const [x, y] = [at(xAxis), at(yAxis)];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const attributes = { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img" };
  Object.entries(attributes).forEach(([name, value]) => svg.setAttribute(name, value));
  [svg.dataset.x, svg.dataset.y] = [xAxis.join(" "), yAxis.join(" ")];
  for (const tick of yTicks) {
    add(svg, "line", { class: "rule", x1: left, x2: width - right, y1: y(tick), y2: y(tick) });
    add(svg, "text", { class: "tick end", x: left - 6, y: y(tick) + 3.5 }, short(tick));
  }
  for (const tick of xTicks) {
    add(svg, "text", { class: tick ? "tick" : "tick start", x: x(tick), y: height - 6 }, formatX(tick));
  }
  const place = (part) => part.map((point) => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join(" ");
  const pathOf = (line) => unbroken(line).map((part) => `M${place(part)}`).join("");
  for (const line of faint) add(svg, "path", { class: `raw ${line.colour}`, d: pathOf(line) });
  for (const line of lines) {
    const parts = unbroken(line);
    const curve = add(svg, "g", { class: `curve ${line.colour}` });
    const dot = ([at, value], r) => add(curve, "circle", { class: line.colour, cx: x(at), cy: y(value), r });
    for (const part of parts) add(curve, "polyline", { class: `line ${line.colour}`, points: place(part) });
    for (const part of parts.slice(0, -1)) if (part.length === 1) dot(part[0], 1.2);
    dot(parts.at(-1).at(-1), 2.6);
  }
  makeReadable(svg);
  return svg;
}

const extreme = (choose, values) => values.reduce((a, b) => choose(a, b));

// 90 as 90s, 3725 as 1h 2m.
function duration(seconds) {
  if (seconds < 120) return `${Number(seconds.toPrecision(3))}s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes}m` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}
