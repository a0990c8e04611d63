// Lets a chart be read: under the pointer, the nearest point of each line, its value, and the x that they share.
//
// A chart's SVG holds each line as a group of class "curve" with a polyline for each part between gaps, in pixels;
// data-x and data-y say which values lie at the ends of the axes (charts.py).
const UNITS = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];

function short(value) {
  const unit = UNITS.find(([limit]) => Math.abs(value) >= limit);
  return unit ? `${Number((value / unit[0]).toPrecision(3))}${unit[1]}` : `${Number(value.toPrecision(3))}`;
}

// A function from pixels to values; `axis` is "pixel value pixel value" of the two ends.
function valueAt(axis) {
  const [low, lowValue, high, highValue] = axis.split(" ").map(Number);
  return (pixel) => lowValue + ((pixel - low) / (high - low)) * (highValue - lowValue);
}

function add(parent, tag, attributes, text = "") {
  const element = document.createElementNS(parent.namespaceURI, tag);
  Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  element.textContent = text;
  parent.append(element);
  return element;
}

function read(svg, pixel) {
  const [x, y] = [valueAt(svg.dataset.x), valueAt(svg.dataset.y)];
  const { width, height } = svg.viewBox.baseVal;
  const nearest = [...svg.querySelectorAll(".curve")].map((curve) => {
    const points = [...curve.querySelectorAll("polyline")].flatMap((part) => [...part.points]);
    const distance = (point) => Math.abs(point.x - pixel);
    return [curve, points.reduce((best, point) => (distance(point) < distance(best) ? point : best))];
  });
  clear(svg);
  const reading = add(svg, "g", { class: "reading" });
  const at = nearest[0][1].x;
  add(reading, "line", { x1: at, x2: at, y1: 0, y2: height - 22 });
  const text = add(reading, "text", { x: width - 4, y: 9 }, `at ${short(x(at))}: `);
  for (const [curve, point] of nearest) {
    const colour = curve.classList[1];
    add(reading, "circle", { class: colour, cx: point.x, cy: point.y, r: 3 });
    add(text, "tspan", { class: colour }, ` ${short(y(point.y))} `);
  }
}

function clear(svg) {
  svg.querySelector(".reading")?.remove();
}

function makeReadable(svg) {
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    read(svg, ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width);
  });
  svg.addEventListener("pointerleave", () => clear(svg));
}

document.querySelectorAll(".chart").forEach(makeReadable);
