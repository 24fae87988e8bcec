/* The lanes: what each stage does, event by event, for each design; below them what a crash leads to, and the axis. */
const lanes = $("lanes"), tip = $("tip");
const ROW = 26, TOP = 30, HEAD = 26, FLAT = 14, AXIS = 40, GAP = 12, RIGHT = 8;
let width = 0, left = 0, perColumn = 1, height = 0, grip = null;
const x = column => left + (column + .5) * perColumn;
const xOf = (design, n) => x(columnOf(design, n));
const toneOf = mark => mark.kind.startsWith("fence") || mark.kind.startsWith("transaction") ? "tone-text"
  : mark.block || mark.kind.startsWith("counter") ? "tone-counter"
  : mark.kind.includes("log") || mark.kind.includes("record") ? "tone-log" : "tone-data";
const isShown = (design, n) => n >= design.begin && n <= design.end;
const laneTop = (design, lane) => design.top + lane * ROW;
const stripTop = design => laneTop(design, design.scene.lanes.length) + 6;

function draw() {
  width = Math.max(240, lanes.parentElement.clientWidth);
  left = width < 560 ? 90 : 112;
  perColumn = (width - left - RIGHT) / columns;
  height = TOP;
  for (const design of designs) {
    design.top = height + (several ? HEAD : 0);
    height = stripTop(design) + FLAT + AXIS + (design.index < designs.length - 1 ? GAP : 0);
  }
  for (const [name, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}` })) lanes.setAttribute(name, value);
  lanes.replaceChildren();
  for (const design of designs) drawDesign(design);
  grip = add(lanes, "g", { id: "handle", role: "slider", tabindex: "0", "aria-label": "power fails after event",
    "aria-valuemin": base, "aria-valuemax": base + columns - 1 });
  add(grip, "line", { x1: 0, x2: 0, y1: 20, y2: height - AXIS });
  for (const design of designs) {
    const y = design.index === 0 ? 1 : design.top - HEAD + 1;
    design.pill = add(grip, "g", {});
    add(design.pill, "rect", { x: -26, y, width: 52, height: 20, rx: 10 });
    add(design.pill, "text", { x: 0, y: y + 14.5, "text-anchor": "middle" });
  }
  $("range").style.marginLeft = `${x(0) - 8}px`;
  $("range").style.width = `${(columns - 1) * perColumn + 16}px`;
  place();
}

function drawDesign(design) {
  const { scene } = design;
  if (several) add(lanes, "text", { x: 0, y: design.top - 8, class: "name" }, design.name);
  scene.lanes.forEach((name, lane) => {
    const y = laneTop(design, lane);
    add(lanes, "text", { x: 0, y: y + ROW / 2 + 4, class: "lane" }, name);
    add(lanes, "line", { x1: left, x2: width - RIGHT, y1: y + ROW, y2: y + ROW, class: "rule" });
  });
  drawQueue(design);
  design.spots = [];
  for (const mark of scene.marks) if (isShown(design, mark.n)) drawMark(design, mark);
  const y = stripTop(design);
  add(lanes, "text", { x: 0, y: y + 11, class: "lane" }, "a crash");
  design.strip = [];
  for (let at = 0, start = 0; at < columns; at++) {
    const n = eventIn(design, at), next = eventIn(design, at + 1);
    if (at < columns - 1 && toneAt(design, n) === toneAt(design, next)) continue;
    const run = { from: eventIn(design, start), to: n, begin: x(start) - perColumn / 2, end: x(at) + perColumn / 2, tone: toneAt(design, n) };
    add(lanes, "rect", { x: run.begin, y, width: run.end - run.begin, height: FLAT, class: run.tone });
    design.strip.push(run);
    start = at + 1;
  }
  drawAxis(design, y + FLAT);
  design.badges = add(lanes, "g", { class: "badges", "aria-hidden": "true" });
}

/* How full the write pending queue is. */
function drawQueue(design) {
  const { scene } = design, lane = scene.lanes.indexOf("WPQ"), bottom = laneTop(design, lane + 1);
  const queued = scene.queued.slice(design.begin - design.first, design.end - design.first + 1);
  const most = Math.max(1, ...queued);
  const edge = place => place < queued.length ? x(design.columns[place]) - perColumn / 2 : width - RIGHT;
  const steps = queued.map((entries, place) =>
    `L${edge(place).toFixed(1)} ${(bottom - entries / most * (ROW - 4)).toFixed(1)}H${edge(place + 1).toFixed(1)}`);
  add(lanes, "path", { d: `M${edge(0)} ${bottom}${steps.join("")}V${bottom}Z`, class: "queue" });
  add(lanes, "text", { x: left - 4, y: bottom - ROW + 11, class: "unit", "text-anchor": "end" }, width < 560 ? most : `${most} ${most === 1 ? "entry" : "entries"}`);
}

function drawMark(design, mark) {
  const y = laneTop(design, mark.lane), tone = toneOf(mark);
  const thin = Math.max(1.4, Math.min(perColumn * .8, 5));
  if (mark.span) {
    const from = xOf(design, Math.max(mark.n, eventBy(design, mark.span[0])));
    const to = Math.max(from + thin, xOf(design, eventBy(design, mark.span[1])));
    add(lanes, "rect", { x: from, y: y + 7 + (mark.unit || 0) % 4 * 3, width: to - from, height: 2.4, rx: 1, class: `${tone} mark` });
    design.spots.push({ mark, from, to });
  } else {
    const tall = tone === "tone-text" ? ROW - 6 : ROW - 12, at = xOf(design, mark.n);
    add(lanes, "rect", { x: at - thin / 2, y: y + (ROW - tall) / 2, width: thin, height: tall, rx: .7, class: `${tone} mark` });
    design.spots.push({ mark, from: at, to: at });
  }
}

/* Ticks: numbers of events, and when they are over. */
function drawAxis(design, y) {
  const room = width < 560 ? 46 : 62, shown = design.end - design.begin + 1;
  const every = [1, 2, 5, 10, 20, 25, 50, 100, 200].find(step => step * perColumn * columns / shown >= room) || 500;
  add(lanes, "text", { x: 0, y: y + 17, class: "unit" }, "event");
  add(lanes, "text", { x: 0, y: y + 31, class: "unit" }, "time in ns");
  let free = left - 4;
  for (let n = design.begin; n <= design.end; n++) {
    if (n !== design.begin && n % every) continue;
    const at = xOf(design, n);
    if (at - 14 < free && n !== design.begin) continue;
    add(lanes, "line", { x1: at, x2: at, y1: y, y2: y + 5, class: "tick" });
    const anchor = n === design.begin ? "start" : at > width - RIGHT - 16 ? "end" : "middle";
    const where = { x: anchor === "start" ? at - perColumn / 2 : at, "text-anchor": anchor, class: "unit" };
    add(lanes, "text", { ...where, y: y + 17 }, n.toLocaleString("en"));
    add(lanes, "text", { ...where, y: y + 31 }, Math.round(timeAt(design, n)).toLocaleString("en"));
    free = at + room / 2;
  }
}

/* Moves the handle to the column that is shown. */
function place() {
  if (!grip) return;
  const at = x(column), where = Math.max(27, Math.min(width - 27, at));
  grip.setAttribute("transform", `translate(${at} 0)`);
  for (const design of designs) {
    design.pill.setAttribute("transform", `translate(${where - at} 0)`);
    design.pill.querySelector("text").textContent = design.now;
    placeBadges(design);
  }
  grip.setAttribute("aria-valuenow", base + column);
  grip.setAttribute("aria-valuetext", valueText());
}

/* The steps of the chosen line in the lanes: those that have happened are lit. */
function placeBadges(design) {
  design.badges.replaceChildren();
  const steps = (design.steps || []).filter(step => step.mark && isShown(design, step.mark.n));
  const spots = steps.map(step => ({ step, x: xOf(design, step.mark.n), y: laneTop(design, step.mark.lane) + ROW / 2 }));
  for (let place = 1; place < spots.length; place++)
    for (const before of spots.slice(0, place))
      if (before.y === spots[place].y && Math.abs(spots[place].x - before.x) < 16) spots[place].x = before.x + 16;
  if (spots.length > 1)
    add(design.badges, "polyline", { points: spots.map(spot => `${spot.x.toFixed(1)},${spot.y}`).join(" "), class: "journey" });
  for (const { step, ...spot } of spots) {
    const badge = add(design.badges, "g", { class: `badge ${step.state}`, "data-step": step.number, "data-event": step.mark.n });
    add(badge, "circle", { cx: spot.x, cy: spot.y, r: 8 });
    add(badge, "text", { x: spot.x, y: spot.y + 3.8, "text-anchor": "middle" }, step.number);
  }
}
function light(design, number, on) {
  for (const badge of design.badges.children) badge.classList.toggle("lit", on && badge.dataset.step === String(number));
}

/* What is under the pointer. */
function markText(design, mark) {
  const of = mark.block ? "counters of " : "";
  return [mark.line !== undefined ? of + hex(mark.line) : "", mark.text || "",
    mark.span ? `${mark.span[0].toLocaleString("en")} to ${nanoseconds(mark.span[1])}` : ""].filter(part => part).join(", ");
}
function under(px, py) {
  for (const design of designs) {
    const lane = Math.floor((py - design.top) / ROW);
    if (lane >= 0 && lane < design.scene.lanes.length) {
      const away = spot => Math.max(0, spot.from - px, px - spot.to);
      const near = design.spots.filter(spot => spot.mark.lane === lane && away(spot) <= 7);
      if (near.length) {
        const best = near.reduce((a, b) => away(b) < away(a) || away(b) === away(a) && b.to - b.from < a.to - a.from ? b : a);
        return marksUnder(design, lane, best.mark);
      }
      if (design.scene.lanes[lane] !== "WPQ" || px < left) return null;
      const n = eventIn(design, Math.floor((px - left) / perColumn));
      const entries = design.scene.queued[n - design.first];
      return [`event ${n}, ${nanoseconds(timeAt(design, n))}`, `WPQ: ${entries} ${entries === 1 ? "entry waits" : "entries wait"}`];
    }
    if (py >= stripTop(design) && py < stripTop(design) + FLAT) {
      const run = design.strip.find(run => px >= run.begin && px <= run.end);
      return run ? [`events ${run.from} to ${run.to}`, `a crash here: ${WORDS[run.tone]}`] : null;
    }
  }
  return null;
}
function marksUnder(design, lane, mark) {
  const same = design.marksOf.get(mark.n).filter(one => one.lane === lane);
  const said = same.slice(0, 4).map(one => `${one.kind}${markText(design, one) ? `: ${markText(design, one)}` : ""}`);
  if (same.length > 4) said.push(`and ${same.length - 4} more`);
  return [`event ${mark.n}, ${nanoseconds(timeAt(design, mark.n))}, ${design.scene.lanes[lane]}`, ...said];
}
function showTip(event) {
  const box = lanes.getBoundingClientRect();
  const px = event.clientX - box.left, py = event.clientY - box.top;
  const told = under(px, py);
  if (!told) { hideTip(); return; }
  tip.replaceChildren(make("b", told[0]), ...told.slice(1).map(line => make("span", line)));
  tip.hidden = false;
  tip.style.left = `${Math.max(0, Math.min(width - tip.offsetWidth, px + 12))}px`;
  tip.style.top = `${py + 18}px`;
}
function hideTip() { tip.hidden = true; }
