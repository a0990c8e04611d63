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

// Moving averages in which what lies further back counts less; 0 leaves the values as they are.
function smoothed(values, share) {
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    [sum, weight] = [share * sum + (1 - share) * value, share * weight + (1 - share)];
    return sum / weight;
  });
}

// A chart of lines, each {colour, x, y}; those in `faint` lie below without being read.
function drawChart(lines, faint, formatX) {
  const { width, height, left, right, top, bottom } = SIZE;
  const all = [...lines, ...faint];
  const xs = all.flatMap((line) => line.x);
  const ys = all.flatMap((line) => line.y);
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
  const place = (line) => line.x.map((value, i) => `${x(value).toFixed(1)},${y(line.y[i]).toFixed(1)}`).join(" ");
  for (const line of faint) add(svg, "path", { class: `raw ${line.colour}`, d: `M${place(line)}` });
  for (const line of lines) {
    add(svg, "polyline", { class: `line ${line.colour}`, points: place(line) });
    add(svg, "circle", { class: line.colour, cx: x(line.x.at(-1)), cy: y(line.y.at(-1)), r: 2.6 });
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
