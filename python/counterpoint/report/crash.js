"use strict";
(() => {
const scene = JSON.parse(document.getElementById("scene").textContent);
const first = scene.first, last = scene.last;
const $ = id => document.getElementById(id);
const hex = address => "0x" + address.toString(16);
const has = (value, key) => value[key] !== undefined;

/* What a crash after each event leaves: the last change before it, of each thing. */
const count = last - first + 1;
const at = { registers: new Array(count), boot: new Array(count), verdict: new Array(count) };
const changes = new Map(scene.points.map(point => [point.n, point]));
for (let index = 0; index < count; index++) {
  const point = changes.get(first + index) || {};
  for (const thing of Object.keys(at)) at[thing][index] = has(point, thing) ? point[thing] : at[thing][index - 1];
}
const verdictOf = n => scene.verdicts[at.verdict[n - first]];
const marksOf = new Map();
for (const mark of scene.marks) {
  if (!marksOf.has(mark.n)) marksOf.set(mark.n, []);
  marksOf.get(mark.n).push(mark);
}
const violated = [], persisted = [];
for (let n = first; n <= last; n++) {
  const before = n > first ? verdictOf(n - 1).violations : [];
  if (verdictOf(n).violations.some(place => !before.includes(place))) violated.push(n);
  if ((marksOf.get(n) || []).some(mark => mark.kind.endsWith(" persists"))) persisted.push(n);
}

/* Lines and cores as they are after event n. */
function stateAt(n) {
  const lines = new Array(scene.lines.length).fill(null), cores = new Map();
  for (const point of scene.points) {
    if (point.n > n) break;
    for (const change of point.lines || [])
      lines[change[0]] = { state: change[1], durable: change[2], data: change[3], inFlight: change[4], wrong: change[5],
        restored: change[6], n: point.n };
    for (const [core, transaction, stage] of point.cores || []) cores.set(core, { transaction, stage });
  }
  return { lines, cores };
}

/* The lanes. */
const lanes = $("lanes");
const ROW = 26, TOP = 30, FLAT = 14;
const height = TOP + scene.lanes.length * ROW + FLAT + 10;
let width = 0, left = 0, perEvent = 1, grip = null;
const x = n => left + (n - first + .5) * perEvent;
const toneOf = mark => mark.kind.startsWith("fence") || mark.kind.startsWith("transaction") ? "tone-text"
  : mark.block || mark.kind.startsWith("counter") ? "tone-counter"
  : mark.kind.includes("log") || mark.kind.includes("record") ? "tone-log" : "tone-data";

{% include "svg.js" +%}

/* The event by which a time has come. */
function eventAt(ns) {
  let low = 0, high = scene.ns.length - 1;
  while (low < high) {
    const middle = low + high >> 1;
    if (scene.ns[middle] < ns) low = middle + 1; else high = middle;
  }
  return first + low;
}

function draw() {
  width = Math.max(240, lanes.parentElement.clientWidth);
  left = width < 560 ? 74 : 104;
  perEvent = (width - left - 8) / count;
  lanes.setAttribute("width", width);
  lanes.setAttribute("height", height);
  lanes.setAttribute("viewBox", `0 0 ${width} ${height}`);
  lanes.replaceChildren();
  scene.lanes.forEach((name, lane) => {
    const y = TOP + lane * ROW;
    add(lanes, "text", { x: 0, y: y + ROW / 2 + 4, class: "lane" }, name);
    add(lanes, "line", { x1: left, x2: width - 8, y1: y + ROW, y2: y + ROW, class: "rule" });
  });
  const queue = scene.lanes.indexOf("WPQ"), most = Math.max(1, ...scene.queued);
  const base = TOP + (queue + 1) * ROW;
  const steps = scene.queued.map((entries, index) => {
    const y = (base - entries / most * (ROW - 4)).toFixed(1);
    return `L${(x(first + index) - perEvent / 2).toFixed(1)} ${y}H${(x(first + index) + perEvent / 2).toFixed(1)}`;
  });
  add(lanes, "path", { d: `M${x(first) - perEvent / 2} ${base}${steps.join("")}V${base}Z`, class: "queue" });
  const tick = Math.max(1.4, Math.min(perEvent * .8, 5));
  for (const mark of scene.marks) {
    const y = TOP + mark.lane * ROW, tone = toneOf(mark);
    if (mark.span) {
      const from = x(Math.max(mark.n, eventAt(mark.span[0]))), to = Math.max(from + tick, x(eventAt(mark.span[1])));
      add(lanes, "rect", { x: from, y: y + 7 + (mark.unit || 0) % 4 * 3, width: to - from, height: 2.4, rx: 1, class: tone });
    } else {
      const tall = tone === "tone-text" ? ROW - 6 : ROW - 12;
      add(lanes, "rect", { x: x(mark.n) - tick / 2, y: y + (ROW - tall) / 2, width: tick, height: tall, rx: .7, class: tone });
    }
  }
  const y = TOP + scene.lanes.length * ROW + 6;
  add(lanes, "text", { x: 0, y: y + 11, class: "lane" }, "a crash");
  for (let n = first, begin = first; n <= last; n++) {
    if (n < last && tone(n) === tone(n + 1)) continue;
    add(lanes, "rect", { x: x(begin) - perEvent / 2, y, width: (n - begin + 1) * perEvent, height: FLAT, class: tone(n) });
    begin = n + 1;
  }
  grip = add(lanes, "g", { id: "handle", role: "slider", tabindex: "0", "aria-label": "power fails after event",
    "aria-valuemin": first, "aria-valuemax": last });
  add(grip, "line", { x1: 0, x2: 0, y1: 20, y2: height });
  add(grip, "rect", { x: -26, y: 1, width: 52, height: 20, rx: 10 });
  add(grip, "text", { x: 0, y: 15.5, "text-anchor": "middle" });
  $("range").style.marginLeft = `${x(first) - 8}px`;
  $("range").style.width = `${(count - 1) * perEvent + 16}px`;
  place();
}
const tone = n => !verdictOf(n).recovers ? "broken" : verdictOf(n).violations.length ? "leaks" : "kept";

function place() {
  if (!grip) return;
  const where = Math.max(27, Math.min(width - 27, x(now)));
  grip.setAttribute("transform", `translate(${x(now)} 0)`);
  for (const part of grip.querySelectorAll("rect, text"))
    part.setAttribute("transform", `translate(${where - x(now)} 0)`);
  grip.querySelector("text").textContent = now;
  grip.setAttribute("aria-valuenow", now);
  grip.setAttribute("aria-valuetext", `event ${now}, ${WORDS[tone(now)]}`);
}
const WORDS = { kept: "every rule holds", leaks: "recovers, yet a secret leaks", broken: "a rule is broken" };

/* The panels. */
function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}
const counterText = counter => counter === null || counter === undefined ? "none"
  : scene.counters === "split" ? `${counter[0]}.${counter[1]}` : String(counter[0]);
const STATE_TONE = ["kept", "flight", "older", "broken", "broken", "clear", "older"];
const RESTORED = scene.lanes.includes("hardware log") ? "the hardware's log puts its old bytes back" : "restored from the shadow cache";

function counters(line) {
  if (!scene.counters) return "";
  if (!line.data && line.state === 3) return `durable ${counterText(line.durable)}`;
  if (!line.data) return line.durable && line.durable.some(part => part) ? `durable ${counterText(line.durable)}` : "never written";
  const durable = line.durable === null ? "" : `, durable ${counterText(line.durable)}`;
  return `data ${counterText(line.data)}${durable}`;
}

function showLines(lines) {
  const rows = scene.lines.map((line, index) => {
    const seen = lines[index], row = make("tr");
    const where = make("th", hex(line.address));
    where.scope = "row";
    where.append(make("small", line.role));
    const state = make("td", undefined, "state");
    if (!seen) {
      state.append(make("span", "as before the run", "quiet"));
      row.append(where, state, make("td", ""));
      return row;
    }
    state.append(make("i", "", "dot " + STATE_TONE[seen.state]), scene.states[seen.state]);
    if (seen.inFlight) state.append(make("small", seen.state === 1 ? "" : "newer stores in flight"));
    if (seen.restored) state.append(make("small", RESTORED));
    const mixed = seen.data && seen.durable && String(seen.data) !== String(seen.durable);
    if (mixed && seen.state === 0) state.append(make("small", "it held zeros, and reads as zero"));
    const under = make("td", counters(seen), mixed ? "mixed" : "");
    row.append(where, state, under);
    if (seen.n === now && now > first) row.classList.add("now");
    if (seen.wrong) row.classList.add("wrong");
    row.dataset.address = line.address;
    return row;
  });
  $("lines").replaceChildren(...rows);
  const tally = new Map();
  for (const seen of lines) if (seen) tally.set(seen.state, (tally.get(seen.state) || 0) + 1);
  const words = [...tally].sort((a, b) => a[0] - b[0]).map(([state, many]) => `${many} ${scene.states[state]}`);
  $("tally").textContent = words.join(" · ") || "nothing has happened yet";
}

function showBoot() {
  const registers = scene.registers[at.registers[now - first]];
  $("registers").replaceChildren(...registers.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  $("boot").replaceChildren(...scene.boots[at.boot[now - first]].map(step => {
    const item = make("li", step.text);
    if (step.lines) item.append(make("small", step.lines.map(hex).join(" ")));
    return item;
  }));
}

const RANK = ["recovery", "line", "atomicity", "durability", "structure", "battery", "plaintext", "pad_reuse", "tweak_reuse"];
function showVerdict() {
  const verdict = verdictOf(now);
  const heading = $("verdict-word");
  heading.textContent = WORDS[tone(now)][0].toUpperCase() + WORDS[tone(now)].slice(1);
  heading.className = tone(now);
  const standing = verdict.violations.map(place => scene.violations[place]);
  standing.sort((a, b) => RANK.indexOf(a.rule) - RANK.indexOf(b.rule) || b.crash_event - a.crash_event);
  $("violations").replaceChildren(...standing.map((violation, index) => {
    const box = make("details");
    box.open = index === 0;
    const what = violation.line === null ? `core ${violation.core}` : hex(violation.line);
    const summary = make("summary", `${violation.rule.replace("_", " ")}, ${what}`);
    summary.append(make("small", violation.crash_event === now ? "since this event" : `since event ${violation.crash_event}`));
    box.append(summary, make("p", violation.explanation));
    return box;
  }));
  $("none").hidden = standing.length > 0;
  $("reproduce").textContent = `${scene.command} --at-event ${now}`;
}

function showMarks() {
  const marks = marksOf.get(now) || [];
  const items = marks.map(mark => {
    const item = make("li");
    item.append(make("b", scene.lanes[mark.lane]), ` ${mark.kind}`);
    const of = mark.block ? "counters of " : "";
    const more = [mark.line !== undefined ? of + hex(mark.line) : "", mark.text || "",
      mark.span ? `${mark.span[0]} to ${mark.span[1]} ns` : ""].filter(part => part);
    if (more.length) item.append(make("small", more.join(", ")));
    return item;
  });
  $("marks").replaceChildren(...(items.length ? items : [make("li", "a step that no lane shows", "quiet")]));
}

let now = 0;
function show(n) {
  now = Math.max(first, Math.min(last, Math.round(n)));
  const { lines, cores } = stateAt(now);
  const where = [...cores].filter(([, of]) => of.transaction !== null).map(([core, of]) =>
    `${cores.size > 1 ? `core ${core}: ` : ""}transaction ${of.transaction}${of.stage ? `, ${of.stage}` : ""}`);
  $("event").textContent = now;
  $("time").textContent = `${scene.ns[now - first].toLocaleString("en")} ns`;
  $("stage").textContent = where.join(" · ");
  $("range").value = now;
  $("range").setAttribute("aria-valuetext", `event ${now}, ${WORDS[tone(now)]}`);
  $("previous").disabled = !violated.some(n => n < now);
  $("next").disabled = !violated.some(n => n > now);
  $("persist").disabled = !persisted.some(n => n > now);
  place();
  showLines(lines);
  showBoot();
  showVerdict();
  showMarks();
}

/* The handle. */
const fromPointer = event => first + (event.clientX - lanes.getBoundingClientRect().left - left) / perEvent - .5;
lanes.addEventListener("pointerdown", event => {
  if (event.button !== 0) return;
  lanes.setPointerCapture(event.pointerId);
  show(fromPointer(event));
  grip.focus({ preventScroll: true });
  event.preventDefault();
});
lanes.addEventListener("pointermove", event => {
  if (lanes.hasPointerCapture(event.pointerId)) show(fromPointer(event));
});
lanes.addEventListener("keydown", event => {
  const far = event.shiftKey ? 10 : 1;
  const to = { ArrowLeft: now - far, ArrowDown: now - far, ArrowRight: now + far, ArrowUp: now + far, PageDown: now - 25,
    PageUp: now + 25, Home: first, End: last }[event.key];
  if (to === undefined) return;
  show(to);
  event.preventDefault();
});
$("range").addEventListener("input", event => show(Number(event.target.value)));
$("previous").addEventListener("click", () => show(violated.findLast(n => n < now)));
$("next").addEventListener("click", () => show(violated.find(n => n > now)));
$("persist").addEventListener("click", () => show(persisted.find(n => n > now)));
new ResizeObserver(() => { if (lanes.parentElement.clientWidth !== width) draw(); }).observe(lanes.parentElement);
now = Number(document.body.dataset.open);
draw();
show(now);
})();
