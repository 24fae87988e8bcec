/* A window of a crash run: its lanes, its handle, its panels. It shows `page`: designs, and the column at which it opens. */
const $ = id => document.getElementById(id);
const hex = address => "0x" + address.toString(16);
const has = (value, key) => value[key] !== undefined;
const WORDS = { kept: "every rule holds", leaks: "recovers, yet a secret leaks", broken: "a rule is broken" };
const RANK = ["recovery", "line", "atomicity", "durability", "structure", "battery", "plaintext", "pad_reuse", "tweak_reuse"];

{% include "svg.js" +%}
{% include "crash_model.js" +%}
{% include "crash_lanes.js" +%}
{% include "crash_panels.js" +%}

/* One handle for all designs: a column of the axis, and in each design the event that it stands for. */
const designs = page.designs.map(model);
const several = designs.length > 1;
const columns = Math.max(...designs.map(design => design.columns[design.columns.length - 1])) + 1;
const base = several ? 1 : designs[0].begin;
let column = 0, chosen = null;

/* Columns in which a violation is added, and in which something becomes durable, in any of the designs. */
const columnsOf = of => [...new Set(designs.flatMap(design => design[of].map(n => columnOf(design, n))))].sort((a, b) => a - b);
const violated = columnsOf("violated"), persisted = columnsOf("persisted");

/* The violation that a reader looks at first: the worst of those that are the newest. */
function leading(design, n) {
  const standing = violationsAt(design, n).filter(violation => violation.line !== null);
  return standing.find(violation => violation.crash_event === n) || standing[0];
}

/* The line that the steps are about, where the reader has chosen none: that of a violation, else the one that became durable last,
   or was stored to last. */
function lineOf(at) {
  for (const design of designs) {
    const violation = leading(design, eventIn(design, at));
    if (violation && storyOf(design, violation.line, eventIn(design, at))) return violation.line;
  }
  const design = designs[0], n = eventIn(design, at);
  const of = kind => design.scene.marks.filter(mark => mark.kind === kind && design.places.has(mark.line));
  const durable = of("data persists").filter(mark => storyOf(design, mark.line, n).stores.length), stored = of("store");
  const mark = durable.findLast(mark => mark.n <= n) || stored.findLast(mark => mark.n <= n) || durable[0] || stored[0];
  return mark ? mark.line : design.scene.lines.length ? design.scene.lines[0].address : null;
}

function show(to) {
  column = Math.max(0, Math.min(columns - 1, Math.round(to)));
  for (const design of designs) {
    design.now = eventIn(design, column);
    showDesign(design, chosen);
  }
  $("range").value = base + column;
  $("range").setAttribute("aria-valuetext", valueText());
  $("previous").disabled = !violated.some(at => at < column);
  $("next").disabled = !violated.some(at => at > column);
  $("persist").disabled = !persisted.some(at => at > column);
  place();
}
const valueText = () => designs.map(design =>
  `${several ? `${design.name}: ` : ""}event ${design.now}, ${WORDS[toneAt(design, design.now)]}`).join("; ");

/* Moves the handle and keeps the place in the address, so that it can be linked to; what else is there stays. */
function go(to, line) {
  if (line !== undefined) chosen = line;
  show(to);
  const place = new URLSearchParams(location.hash.slice(1));
  place.set("event", designs[0].now);
  if (several) place.set("beside", designs[1].now);
  if (chosen !== null) place.set("line", hex(chosen));
  history.replaceState(null, "", `#${place}`);
}

/* The place that the address names: an event of the first design, of the second one, a line. */
function fromAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const number = name => asked.has(name) && /^(0x[0-9a-f]+|\d+)$/i.test(asked.get(name)) ? Number(asked.get(name)) : null;
  const event = number("event"), beside = several ? number("beside") : null, line = number("line");
  let to = event === null ? null : columnOf(designs[0], event);
  if (to !== null && beside !== null) {
    const exact = columnOf(designs[1], beside);
    if (eventIn(designs[0], exact) === event) to = exact;
  }
  return { to, line: line !== null && designs.some(design => design.places.has(line)) ? line : null };
}
function open(otherwise) {
  const { to, line } = fromAddress();
  const at = to === null ? otherwise : to;
  chosen = line === null ? lineOf(at) : line;
  show(at);
}

/* The handle. */
const fromPointer = event => (event.clientX - lanes.getBoundingClientRect().left - left) / perColumn - .5;
lanes.addEventListener("pointerdown", event => {
  if (event.button !== 0) return;
  lanes.setPointerCapture(event.pointerId);
  hideTip();
  go(fromPointer(event));
  grip.focus({ preventScroll: true });
  event.preventDefault();
});
lanes.addEventListener("pointermove", event => {
  if (lanes.hasPointerCapture(event.pointerId)) go(fromPointer(event));
  else showTip(event);
});
lanes.addEventListener("pointerleave", hideTip);
lanes.addEventListener("keydown", event => {
  const far = event.shiftKey ? 10 : 1;
  const to = { ArrowLeft: column - far, ArrowDown: column - far, ArrowRight: column + far, ArrowUp: column + far,
    PageDown: column - 25, PageUp: column + 25, Home: 0, End: columns - 1 }[event.key];
  if (to === undefined) return;
  go(to);
  event.preventDefault();
});
$("range").addEventListener("input", event => go(Number(event.target.value) - base));
const toViolation = at => go(at, lineOf(at));
$("previous").addEventListener("click", () => toViolation(violated.findLast(at => at < column)));
$("next").addEventListener("click", () => toViolation(violated.find(at => at > column)));
$("persist").addEventListener("click", () => go(persisted.find(at => at > column)));
/* `page.over`, a signal, says that the window is shown no more. */
addEventListener("hashchange", () => open(column), { signal: page.over });
const resized = new ResizeObserver(() => { if (lanes.parentElement.clientWidth !== width) draw(); });
resized.observe(lanes.parentElement);
if (page.over) page.over.addEventListener("abort", () => resized.disconnect());
Object.assign($("range"), { min: base, max: base + columns - 1 });
column = page.open;
draw();
open(column);
