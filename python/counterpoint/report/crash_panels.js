/* The panels below the lanes, of each design: the verdict, the steps of a line, what is durable, what a boot does. */
function make(name, text, className) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}
const part = (design, name) => design.root.querySelector(`.${name}`);
const STATE_TONE = ["kept", "flight", "older", "broken", "broken", "clear", "older", "before"];
const STAGES = ["Stored", "Flushed", "Encrypted", "Durable", "Relied on"];

function showDesign(design, address) {
  const n = design.now;
  showWhere(design);
  showVerdict(design);
  showStory(design, address);
  showLines(design, address);
  showBoot(design);
  showMarks(design);
  design.root.dataset.event = n;
}

function showWhere(design) {
  const cores = coresAt(design, design.now);
  const where = [...cores].filter(([, of]) => of.transaction !== null).map(([core, of]) =>
    `${cores.size > 1 ? `core ${core}: ` : ""}transaction ${of.transaction}${of.stage ? `, ${of.stage}` : ""}`);
  const told = document.querySelector(`.where [data-design="${design.index}"]`);
  told.querySelector(".event").textContent = design.now;
  told.querySelector(".time").textContent = nanoseconds(timeAt(design, design.now));
  told.querySelector(".cores").textContent = where.join(" · ");
}

function showVerdict(design) {
  const n = design.now, tone = toneAt(design, n);
  const heading = part(design, "verdict-word");
  heading.textContent = WORDS[tone][0].toUpperCase() + WORDS[tone].slice(1);
  heading.className = `verdict-word ${tone}`;
  const standing = violationsAt(design, n);
  part(design, "violations").replaceChildren(...standing.map(violation => {
    const box = make("details");
    const what = violation.line === null ? `core ${violation.core}` : hex(violation.line);
    const summary = make("summary", `${violation.rule.replace("_", " ")}, ${what}`);
    summary.append(make("small", violation.crash_event === n ? "since this event" : `since event ${violation.crash_event}`));
    box.append(summary, make("p", violation.explanation));
    if (violation.line !== null && design.places.has(violation.line) && violation.line !== chosen) {
      const choose = make("button", `steps of ${hex(violation.line)}`);
      choose.type = "button";
      choose.addEventListener("click", () => go(column, violation.line));
      box.append(choose);
    }
    return box;
  }));
  for (const none of design.root.querySelectorAll(".none")) none.hidden = standing.length > 0;
  part(design, "reproduce").textContent = `${design.scene.command} --at-event ${n}`;
}

/* The five steps of a line: where each happens, and whether it has happened when power fails. */
function stepsOf(design, address, n) {
  const round = storyOf(design, address, n);
  if (!round) return [];
  const store = round.stores.findLast(mark => mark.n <= n) || round.stores[0];
  const texts = [storedText(design, round, store), flushedText(design, round), encryptedText(design, round),
    durableText(design, round), promisedText(design, round)];
  const marks = [store, round.flush || round.arrival, round.pad, round.durable, design.scene.persistent || byHardware(design, round) ? undefined : round.fence];
  return STAGES.map((name, place) => {
    const mark = marks[place];
    const state = mark ? mark.n <= n ? "done" : "ahead" : texts[place].needless ? "needless" : "ahead";
    return { number: place + 1, name, mark, state, text: texts[place].text };
  });
}
const told = text => ({ text });
const needless = text => ({ text, needless: true });
const byHardware = (design, round) => design.scene.lanes.includes("hardware log") && !round.stores.length && !round.flush;
function storedText(design, round, store) {
  if (byHardware(design, round)) return needless("not by the program: the controller writes the hardware's log");
  if (!store) return told("not in these events");
  const which = round.stores.length > 1 ? ` (store ${round.stores.indexOf(store) + 1} of ${round.stores.length})` : "";
  return told(`core ${store.core} stores to it in its cache${which}`);
}
function flushedText(design, round) {
  if (round.flush) return told(`core ${round.flush.core} flushes it${round.arrival ? `, and the controller gets it in event ${round.arrival.n}` : ""}`);
  if (byHardware(design, round)) return needless("not needed");
  if (round.arrival) return told(round.stores.length ? "it is evicted from the caches" : "the controller has it to write");
  return design.scene.persistent ? needless("not needed: a battery drains the caches") : told("not in these events");
}
function encryptedText(design, round) {
  if (design.scene.cipher === "none") return needless("not at all: memory holds plaintext");
  if (design.scene.cipher !== "counter-mode") return needless("under a tweak that follows from its address");
  if (round.pad) return told(`with the pad of ${round.counter ? `counter ${counterText(design, round.counter)}` : "its new counter"}`);
  return design.scene.persistent && !round.arrival ? needless("when it leaves the caches") : told("not in these events");
}
function durableText(design, round) {
  if (!round.durable) return design.scene.persistent ? needless("at once: caches are in the persistence domain") : told("not in these events");
  const ciphertext = design.scene.cipher === "none" ? "it" : "its ciphertext";
  const enters = `${ciphertext} enters the write pending queue`;
  if (!round.counter) return told(enters);
  const counter = round.counterDurable;
  if (!counter) return told(`${enters}; its counter does not, in these events`);
  if (counter.n === round.durable.n) return told(`${enters}, in one event with its counter`);
  return told(counter.n < round.durable.n ? `${enters}; its counter has been durable since event ${counter.n}`
    : `${enters}; its counter follows in event ${counter.n}`);
}
function promisedText(design, round) {
  if (byHardware(design, round)) return needless("by the boot, if power fails before the transaction ends");
  if (design.scene.persistent) return needless("as soon as it is stored");
  return told(round.fence ? "a fence completes: the program goes on and needs the line" : "not in these events");
}

function showStory(design, address) {
  const n = design.now;
  design.steps = address === null ? [] : stepsOf(design, address, n);
  const line = design.scene.lines[design.places.get(address)];
  const title = part(design, "story-title");
  title.textContent = address === null ? "No line is touched in these events" : `The line at ${hex(address)} in five steps`;
  if (line) title.append(make("small", line.role));
  part(design, "story").replaceChildren(...design.steps.map(step => {
    const item = make("li", undefined, step.state);
    const button = make("button");
    button.type = "button";
    button.disabled = !step.mark || !isShown(design, step.mark.n);
    button.append(make("i", String(step.number)), make("b", step.name));
    if (step.mark) button.append(make("small", `event ${step.mark.n}, ${nanoseconds(timeAt(design, step.mark.n))}`));
    button.append(make("span", step.text));
    button.addEventListener("click", () => go(columnOf(design, step.mark.n), address));
    for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]])
      button.addEventListener(event, () => light(design, step.number, on));
    item.append(button);
    return item;
  }));
  showEnd(design, address);
  showBytes(design, address);
}

/* What the boot finds after all this. */
const UNTOUCHED = 7;
const FOUND = [null, "A boot finds newer contents, which no fence covers yet", "A boot finds older contents", "A boot reads the line as zero",
  "A boot cannot decrypt the line", "A boot finds the line in the clear", "A boot decrypts the line after those before it in the log's chain"];
const said = (design, row) => FOUND[row.state] || `A boot finds the line ${design.scene.states[row.state]}`;
function showEnd(design, address) {
  const end = part(design, "end"), place = design.places.get(address);
  const row = place === undefined ? undefined : rowAt(design, place, design.now);
  end.hidden = address === null;
  end.className = `end ${row ? row.wrong ? "broken" : "kept" : ""}`;
  if (!row) { end.textContent = address === null ? "" : "Nothing happens to this line here."; return; }
  const parts = [make("b", "Power fails now. "), `${said(design, row)}.`];
  if (row.restored) parts.push(` The boot takes it from ${source(design)}.`);
  if (row.data && row.durable && String(row.data) !== String(row.durable))
    parts.push(` It was encrypted with counter ${counterText(design, row.data)}, and the durable counter is ${counterText(design, row.durable)}${
      never(row.durable) ? ", which means never written" : ""}.`);
  if (row.wrong) {
    const round = storyOf(design, address, design.now);
    const relied = design.scene.persistent || round && round.fence && round.fence.n <= design.now;
    parts.push(make("b", relied ? " The program relies on what it stored there: a rule is broken."
      : " It must read as before or as stored: a rule is broken."));
  }
  end.replaceChildren(...parts);
}
const source = design => design.scene.lanes.includes("hardware log") ? "the hardware's log" : "the shadow cache";

{% include "crash_bytes.js" +%}

function counters(design, line) {
  if (!line.data && line.state === 3) return `durable ${counterText(design, line.durable)}`;
  if (!line.data) return never(line.durable) ? "never written" : `durable ${counterText(design, line.durable)}`;
  const durable = line.durable === null ? "" : `, durable ${counterText(design, line.durable)}`;
  return `data ${counterText(design, line.data)}${durable}`;
}

function showLines(design, address) {
  const n = design.now, tally = new Map();
  const rows = design.scene.lines.map((line, index) => {
    const seen = rowAt(design, index, n), row = make("tr"), where = make("th");
    where.scope = "row";
    const choose = make("button", hex(line.address), "choose");
    choose.type = "button";
    choose.setAttribute("aria-pressed", String(line.address === address));
    choose.addEventListener("click", () => { go(column, line.address); design.root.querySelector(`tr[data-address="${line.address}"] button`).focus({ preventScroll: true }); });
    where.append(choose, make("small", line.role));
    row.dataset.address = line.address;
    if (line.address === address) row.classList.add("chosen");
    const state = make("td", undefined, "state");
    row.append(where, state);
    const text = design.scene.states[seen ? seen.state : UNTOUCHED];
    tally.set(text, (tally.get(text) || 0) + 1);
    if (!seen) {
      state.append(make("span", text, "quiet"));
      if (design.scene.counters) row.append(make("td", ""));
      return row;
    }
    state.append(make("i", "", `dot ${STATE_TONE[seen.state]}`), text);
    if (seen.inFlight && seen.state !== 1) state.append(make("small", "newer stores in flight"));
    if (seen.restored) state.append(make("small", `the boot takes it from ${source(design)}`));
    const mixed = seen.data && seen.durable && String(seen.data) !== String(seen.durable);
    if (mixed && seen.state === 0) state.append(make("small", "it held zeros, and reads as zero"));
    if (design.scene.counters) row.append(make("td", counters(design, seen), mixed ? "mixed" : ""));
    if (seen.n === n && n > design.first) row.classList.add("now");
    if (seen.wrong) row.classList.add("wrong");
    return row;
  });
  part(design, "lines").replaceChildren(...rows);
  showRow(design);
  part(design, "tally").textContent = [...tally].map(([text, many]) => `${many} ${text}`).join(" · ");
}

/* Scrolls the table, and nothing else, to the chosen line. */
function showRow(design) {
  const box = part(design, "table"), row = box.querySelector(".chosen");
  if (!row || box.scrollHeight <= box.clientHeight) return;
  const top = row.offsetTop, bottom = top + row.offsetHeight;
  if (top < box.scrollTop || bottom > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 3;
}

function showBoot(design) {
  const { scene, at } = design, place = design.now - design.first;
  const registers = scene.registers[at.registers[place]];
  part(design, "registers").replaceChildren(...registers.flatMap(([name, value]) => [make("dt", name), make("dd", value)]));
  part(design, "boot").replaceChildren(...scene.boots[at.boot[place]].map(step => {
    const item = make("li", step.text);
    if (step.lines) item.append(make("small", step.lines.map(hex).join(" ")));
    return item;
  }));
}

function showMarks(design) {
  const marks = design.marksOf.get(design.now) || [];
  const items = marks.map(mark => {
    const item = make("li"), more = markText(design, mark);
    item.append(make("b", design.scene.lanes[mark.lane]), ` ${mark.kind}`);
    if (more) item.append(make("small", more));
    return item;
  });
  part(design, "marks").replaceChildren(...(items.length ? items : [make("li", "a step that no lane shows", "quiet")]));
}
