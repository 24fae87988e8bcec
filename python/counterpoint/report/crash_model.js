/* A window of a run of one design: what a crash after each event leaves, and what happens to each line. */
function model(document, index) {
  const { scene } = document, { first, last } = scene;
  const count = last - first + 1;
  const begin = document.begin;
  const columns = document.columns || Array.from({ length: last - begin + 1 }, (_, place) => place);
  const design = { ...document, index, begin, columns, first, end: begin + columns.length - 1, now: begin };
  design.root = $(`design-${index}`);
  design.at = { registers: new Array(count), boot: new Array(count), verdict: new Array(count) };
  const changes = new Map(scene.points.map(point => [point.n, point]));
  for (let place = 0; place < count; place++) {
    const point = changes.get(first + place) || {};
    for (const thing of Object.keys(design.at))
      design.at[thing][place] = has(point, thing) ? point[thing] : design.at[thing][place - 1];
  }
  design.marksOf = new Map();
  for (const mark of scene.marks) {
    if (!design.marksOf.has(mark.n)) design.marksOf.set(mark.n, []);
    design.marksOf.get(mark.n).push(mark);
  }
  design.violated = [];
  design.persisted = [];
  for (let n = begin; n <= design.end; n++) {
    const before = n > begin ? verdictOf(design, n - 1).violations : [];
    if (verdictOf(design, n).violations.some(place => !before.includes(place))) design.violated.push(n);
    if ((design.marksOf.get(n) || []).some(mark => mark.kind.endsWith(" persists"))) design.persisted.push(n);
  }
  design.places = new Map(scene.lines.map((line, place) => [line.address, place]));
  design.rows = scene.lines.map(() => []);
  for (const point of scene.points)
    for (const change of point.lines || [])
      design.rows[change[0]].push({ n: point.n, state: change[1], durable: change[2], data: change[3], inFlight: change[4],
        wrong: change[5], restored: change[6], bytes: scene.contents[change[7]] });
  design.fences = scene.marks.filter(mark => mark.kind === "fence complete");
  design.rounds = new Map();
  return design;
}

const verdictOf = (design, n) => design.scene.verdicts[design.at.verdict[n - design.first]];
const violationsAt = (design, n) => verdictOf(design, n).violations.map(place => design.scene.violations[place])
  .sort((a, b) => RANK.indexOf(a.rule) - RANK.indexOf(b.rule) || b.crash_event - a.crash_event);
const toneAt = (design, n) => !verdictOf(design, n).recovers ? "broken" : verdictOf(design, n).violations.length ? "leaks" : "kept";
const timeAt = (design, n) => design.scene.ns[n - design.first];
const nanoseconds = ns => `${ns.toLocaleString("en")} ns`;

/* Columns and events. In a column without an event of its own, the last one before it counts. */
const columnOf = (design, n) => design.columns[Math.max(design.begin, Math.min(design.end, n)) - design.begin];
function eventIn(design, column) {
  let low = 0, high = design.columns.length - 1;
  while (low < high) {
    const middle = low + high + 1 >> 1;
    if (design.columns[middle] <= column) low = middle; else high = middle - 1;
  }
  return design.begin + low;
}

/* The event by which a time has come. */
function eventBy(design, ns) {
  let low = 0, high = design.scene.ns.length - 1;
  while (low < high) {
    const middle = low + high >> 1;
    if (design.scene.ns[middle] < ns) low = middle + 1; else high = middle;
  }
  return design.first + low;
}

/* What is known of a line after event n. */
const rowAt = (design, place, n) => design.rows[place].findLast(row => row.n <= n);

/* Cores with their transaction and its stage after event n. */
function coresAt(design, n) {
  const cores = new Map();
  for (const point of design.scene.points) {
    if (point.n > n) break;
    for (const [core, transaction, stage] of point.cores || []) cores.set(core, { transaction, stage });
  }
  return cores;
}

/* What becomes of a line, from a store to the fence after which the program relies on it; then from the next store on. */
function roundsOf(design, address) {
  if (design.rounds.has(address)) return design.rounds.get(address);
  const rounds = [];
  const began = () => { rounds.push({ stores: [] }); return rounds[rounds.length - 1]; };
  const first = (of, otherwise) => rounds.find(of) || otherwise();
  for (const mark of design.scene.marks) {
    if (mark.line !== address || mark.block) continue;
    const round = rounds[rounds.length - 1];
    if (mark.kind === "store") (round && !round.flush && !round.arrival ? round : began()).stores.push(mark);
    else if (mark.kind === "flush") (round && !round.flush && !round.arrival ? round : began()).flush = mark;
    else if (mark.kind === "write-back") (round && !round.arrival ? round : began()).arrival = mark;
    else if (mark.kind === "pad for a write") first(one => one.arrival && !one.pad && !one.durable, began).pad = mark;
    else if (mark.kind === "data persists") first(one => one.arrival && !one.durable, began).durable = mark;
  }
  for (const round of rounds) {
    const sent = round.flush || round.arrival;
    if (sent) round.fence = design.fences.find(fence => fence.n >= sent.n && (!round.flush || fence.core === round.flush.core));
    const row = round.durable && rowAt(design, design.places.get(address), round.durable.n);
    if (row && row.data) {
      round.counter = row.data;
      round.counterDurable = design.rows[design.places.get(address)].find(row => String(row.durable) === String(round.counter));
    }
  }
  design.rounds.set(address, rounds);
  return rounds;
}

/* The round that is worth telling: that of contents on which the program relies and which are lost, else the newest one. */
function storyOf(design, address, n) {
  const place = design.places.get(address);
  if (place === undefined) return null;
  const rounds = roundsOf(design, address);
  const begun = round => (round.stores[0] || round.flush || round.arrival || round.durable || round.pad).n <= n;
  const row = rowAt(design, place, n);
  const lost = row && row.wrong && rounds.findLast(round => round.fence && round.fence.n <= n);
  return lost || rounds.findLast(begun) || rounds[0] || null;
}

const counterText = (design, counter) => counter === null || counter === undefined ? "none"
  : design.scene.counters === "split" ? `${counter[0]}.${counter[1]}` : String(counter[0]);
const never = counter => !counter || counter.every(part => part === 0);
