/* The picture of a search: candidates by two of its goals. */
(() => {
const found = JSON.parse(document.getElementById("found").textContent);
const $ = id => document.getElementById(id);
const picture = $("picture"), across = $("across"), up = $("up");
const MARGIN = { left: 52, right: 24, top: 34, bottom: 46 };
const FILLS = { front: "{{ colours.KEPT }}", other: "{{ colours.LOG }}", reference: "{{ colours.COUNTER }}" };
const RADII = { front: 6, other: 3, reference: 7 };
const TICK_ROOM = { across: 90, up: 50 };

{% include "svg.js" +%}

/* Round numbers from low to high, about so many: multiples of 1, 2 or 5 times a power of ten. */
function evenTicks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(one => one * power).filter(one => one <= rough * 1.5).pop();
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

/* The same by factors: powers of ten, with 2 and 5 between them where there is room. */
function powerTicks(low, high, count) {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  const inside = steps => Array.from({ length: to - from + 1 }, (_, i) => steps.map(one => Number(`${one}e${from + i}`)))
    .flat().filter(tick => low <= tick && tick <= high);
  return [[1, 2, 5], [1, 3], [1]].map(inside).find(ticks => ticks.length <= 2 * count) || inside([1]);
}

/* A scale from figures to pixels: by factors where the largest is far above the smallest and none is zero. */
function scale(values, from, to, room) {
  const least = Math.min(...values), most = Math.max(...values);
  const log = least > 0 && most / least > 20;
  const on = log ? Math.log : value => value, back = log ? Math.exp : value => value;
  const pad = (on(most) - on(least)) * .07 || Math.abs(on(most)) * .1 || 1;
  const low = on(least) - pad, high = on(most) + pad;
  const count = Math.max(3, Math.floor(Math.abs(to - from) / room));
  return { place: value => from + (to - from) * (on(value) - low) / (high - low),
    ticks: (log ? powerTicks : evenTicks)(back(low), back(high), count) };
}

/* A figure of an axis, for which there is room for seven characters. */
function short(value) {
  if (value !== 0 && Math.abs(value) < 1e-3) return value.toExponential();
  return Math.abs(value) < 1e6 && String(value).length <= 6 ? value.toLocaleString("en", { maximumSignificantDigits: 6 })
    : new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 }).format(value);
}

const figuresOf = point => found.axes.map((axis, i) => `${axis} ${point.shown[i]}`);

function tell(point, mark) {
  const told = $("told");
  told.replaceChildren();
  const say = text => { const p = document.createElement("p"); p.textContent = text; told.append(p); };
  const number = point.kind === "front" ? `${point.label}: ` : "";
  say(number + (point.as && point.as !== point.name ? `${point.name}, built in as ${point.as}` : point.name));
  say(figuresOf(point).join(", "));
  say(point.told);
  say(point.covered);
  pages.tell(mark, [point.name, ...figuresOf(point)].join("\n"));
}

const meet = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

const around = ({ x, y, r }) => ({ x: x - r, y: y - r, width: 2 * r, height: 2 * r });

/* Puts names beside their marks where they cover no other name and no mark, and none of the small ones if there is such a
   place; one without room is left out, and told when its mark is pointed at. */
function name(marks, small, right, bottom) {
  const taken = marks.map(around), avoided = small.map(around);
  for (const { x, y, r, text } of marks) {
    if (!text) continue;
    const label = add(picture, "text", { class: "label" }, text);
    const places = [[r + 3, 4, "start"], [-r - 3, 4, "end"], [0, -r - 4, "middle"], [0, r + 12, "middle"],
      [r, -r - 1, "start"], [r, r + 9, "start"], [-r, -r - 1, "end"], [-r, r + 9, "end"],
      [r + 15, 4, "start"], [-r - 15, 4, "end"]];
    const fits = [avoided, []].some(besides => places.some(([dx, dy, anchor]) => {
      for (const [key, value] of Object.entries({ x: x + dx, y: y + dy, "text-anchor": anchor })) label.setAttribute(key, value);
      const box = label.getBBox();
      const inside = box.x >= MARGIN.left && box.x + box.width <= right + MARGIN.right && box.y >= MARGIN.top - 12
        && box.y + box.height <= bottom;
      return inside && ![...taken, ...besides].some(other => meet(box, other)) && taken.push(box);
    }));
    if (!fits) label.remove();
  }
}

function draw() {
  pages.hide();
  const x = across.selectedIndex, y = up.selectedIndex;
  const width = picture.clientWidth, height = picture.clientHeight;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren();
  const points = found.points.filter(point => point.at[x] !== null && point.at[y] !== null);
  if (!points.length) return;
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  const ends = axis => points.flatMap(point => [-1, 0, 1].map(side => point.at[axis] + side * (point.half[axis] || 0)));
  const xs = scale(ends(x), MARGIN.left, right, TICK_ROOM.across);
  const ys = scale(ends(y), bottom, MARGIN.top, TICK_ROOM.up);
  for (const tick of xs.ticks) {
    add(picture, "path", { class: "grid", d: `M${xs.place(tick)} ${MARGIN.top}V${bottom}` });
    add(picture, "text", { x: xs.place(tick), y: bottom + 16, "text-anchor": "middle" }, short(tick));
  }
  for (const tick of ys.ticks) {
    add(picture, "path", { class: "grid", d: `M${MARGIN.left} ${ys.place(tick)}H${right}` });
    add(picture, "text", { x: MARGIN.left - 8, y: ys.place(tick) + 4, "text-anchor": "end" }, short(tick));
  }
  add(picture, "path", { class: "axis", fill: "none", d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}` });
  const title = one => `${found.axes[one]}, ${found.better[one]} is better`;
  add(picture, "text", { class: "title", x: 0, y: 14 }, `\u2191 ${title(y)}`);
  add(picture, "text", { class: "title", x: right, y: height - 8, "text-anchor": "end" }, `${title(x)} \u2192`);
  const named = [], small = [];
  /* The front comes last, so that it lies on top; a built-in design at the same place is the ring around it. */
  for (const point of [...points].reverse()) {
    const at = { x: xs.place(point.at[x]), y: ys.place(point.at[y]), r: RADII[point.kind] };
    const known = point.kind === "reference";
    /* Intervals over the seeds. */
    const bar = d => add(picture, "path", { class: "interval", fill: "none", stroke: FILLS[point.kind], d });
    if (point.half[x] !== null) bar(`M${xs.place(point.at[x] - point.half[x])} ${at.y}H${xs.place(point.at[x] + point.half[x])}`);
    if (point.half[y] !== null) bar(`M${at.x} ${ys.place(point.at[y] - point.half[y])}V${ys.place(point.at[y] + point.half[y])}`);
    const mark = add(picture, "circle", { class: point.kind, cx: at.x, cy: at.y, r: at.r,
      fill: known ? "transparent" : FILLS[point.kind], stroke: known ? FILLS.reference : "none", "stroke-width": known ? 2.5 : 0,
      "fill-opacity": point.kind === "other" ? .55 : .95, "data-name": point.id });
    if (point.kind === "other") {
      small.push(at);
    } else {
      named.unshift({ ...at, text: point.label, kind: point.kind });
      mark.setAttribute("tabindex", "0");
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", `${point.name}: ${figuresOf(point).join(", ")}`);
    }
    for (const kind of ["pointerenter", "focus", "click"]) mark.addEventListener(kind, () => tell(point, mark));
    mark.addEventListener("pointerleave", pages.hide);
    mark.addEventListener("blur", pages.hide);
  }
  name(named, small, right, bottom);
}

across.addEventListener("change", draw);
up.addEventListener("change", draw);
addEventListener("resize", draw);
draw();
})();
