"use strict";
(() => {
const found = JSON.parse(document.getElementById("found").textContent);
const $ = id => document.getElementById(id);
const picture = $("picture"), across = $("across"), up = $("up");
const MARGIN = { left: 70, right: 90, top: 14, bottom: 40 };
const FILLS = { front: "{{ colours.KEPT }}", other: "{{ colours.LOG }}", reference: "{{ colours.COUNTER }}" };
const RADII = { front: 6, other: 3, reference: 5 };

{% include "svg.js" +%}

/* A scale from figures to pixels: by factors where the largest is far above the smallest and none is zero. */
function scale(values, from, to) {
  const low = Math.min(...values), high = Math.max(...values);
  const log = low > 0 && high / low > 20;
  const on = log ? Math.log : value => value;
  const span = on(high) - on(low) || 1;
  const place = value => from + (to - from) * (.03 + .94 * (on(value) - on(low)) / span);
  const ticks = Array.from({ length: 5 }, (_, i) => {
    const at = on(low) + span * i / 4;
    return log ? Math.exp(at) : at;
  });
  return { place, ticks: high === low ? [low] : ticks };
}

const short = value => new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 }).format(value);

function tell(point) {
  const told = $("told");
  told.replaceChildren();
  const say = text => { const p = document.createElement("p"); p.textContent = text; told.append(p); };
  say(point.as ? `${point.name}, built in as ${point.as}` : point.name);
  say(found.axes.map((axis, i) => `${axis} ${point.shown[i]}`).join(", "));
  say(point.told);
  say(point.covered);
}

function draw() {
  const x = across.selectedIndex, y = up.selectedIndex;
  const width = picture.clientWidth, height = picture.clientHeight;
  picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
  picture.replaceChildren();
  const points = found.points.filter(point => point.at[x] !== null && point.at[y] !== null);
  if (!points.length) return;
  const right = width - MARGIN.right, bottom = height - MARGIN.bottom;
  const xs = scale(points.map(point => point.at[x]), MARGIN.left, right);
  const ys = scale(points.map(point => point.at[y]), bottom, MARGIN.top);
  add(picture, "path", { class: "axis", fill: "none", d: `M${MARGIN.left} ${MARGIN.top}V${bottom}H${right}` });
  for (const tick of xs.ticks)
    add(picture, "text", { x: xs.place(tick), y: bottom + 16, "text-anchor": "middle" }, short(tick));
  for (const tick of ys.ticks)
    add(picture, "text", { x: MARGIN.left - 8, y: ys.place(tick) + 4, "text-anchor": "end" }, short(tick));
  add(picture, "text", { x: (MARGIN.left + right) / 2, y: height - 6, "text-anchor": "middle" }, found.axes[x]);
  /* The front comes last, so that it lies on top. */
  for (const point of [...points].reverse()) {
    const mark = add(picture, "circle", { class: point.kind, cx: xs.place(point.at[x]), cy: ys.place(point.at[y]),
      r: RADII[point.kind], fill: FILLS[point.kind], "fill-opacity": point.kind === "other" ? .55 : .95,
      "data-name": point.name });
    if (point.kind === "reference")
      add(picture, "text", { x: xs.place(point.at[x]) + 8, y: ys.place(point.at[y]) + 4 }, point.name);
    if (point.kind !== "other") {
      mark.setAttribute("tabindex", "0");
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", `${point.name}: ${point.told}`);
    }
    mark.addEventListener("pointerenter", () => tell(point));
    mark.addEventListener("focus", () => tell(point));
    mark.addEventListener("click", () => tell(point));
  }
}

across.addEventListener("change", draw);
up.addEventListener("change", draw);
window.addEventListener("resize", draw);
draw();
})();
