/* What is asked, how it is computed beside the page, and what is shown of the answer. */
(() => {
const $ = id => document.getElementById(id);
const told = JSON.parse($("told").textContent);
const FIELDS = ["design", "variant", "machine", "program", "transactions"];
const DEFAULTS = Object.fromEntries(FIELDS.map(name => [name, $(name).value]));

/* The engine, in a worker that is started when it is needed, and ended to cancel. */
let worker = null, asked = 0, waiting = new Map();
function ask(call, request) {
  if (worker === null) {
    worker = new Worker("worker.mjs", { type: "module" });
    worker.onmessage = ({ data }) => {
      if (data.id === undefined) { showProgress(data); return; }
      const { answered, refused } = waiting.get(data.id);
      waiting.delete(data.id);
      if (data.error === undefined) answered(data.answer); else refused(new Error(data.error));
    };
    worker.onerror = error => { end(new Error(error.message || "the engine's worker cannot be started")); };
  }
  return new Promise((answered, refused) => {
    asked += 1;
    waiting.set(asked, { answered, refused });
    worker.postMessage({ id: asked, call, request });
  });
}
function end(why) {
  if (worker !== null) worker.terminate();
  worker = null;
  for (const { refused } of waiting.values()) refused(why);
  waiting = new Map();
}
class Cancelled extends Error {}

function showProgress({ done, total }) {
  $("progress").max = total;
  $("progress").value = done;
}
function busy(what) {
  $("status").textContent = what;
  $("cancel").hidden = $("progress").hidden = !what;
  if (what) $("progress").removeAttribute("value");
  document.querySelector("button.run").disabled = Boolean(what);
  $("result").setAttribute("aria-busy", String(Boolean(what)));
}

/* The form, the address, and the request are the same in three forms. */
const chosen = () => ({ ...Object.fromEntries(FIELDS.map(name => [name, $(name).value.trim()])), file: $("file").value });
const designOf = form => form.design || `${form.file.trimEnd()}\n`;
function requestOf(form) {
  const request = { design: designOf(form), variant: form.variant, workload: form.program };
  if (form.machine) request.machine = form.machine;
  if (told.workloads.includes(form.program)) request.transactions = Number(form.transactions);
  return request;
}
function addressOf(form) {
  const place = new URLSearchParams();
  place.set("design", designOf(form));
  for (const name of FIELDS.slice(1)) if (name === "program" || form[name] !== DEFAULTS[name]) place.set(name, form[name]);
  return place;
}
function fromAddress() {
  const place = new URLSearchParams(location.hash.slice(1));
  for (const name of FIELDS) if (name !== "design") $(name).value = place.has(name) ? place.get(name) : DEFAULTS[name];
  const design = place.has("design") ? place.get("design") : DEFAULTS.design;
  if (design.includes("\n")) [$("design").value, $("file").value] = ["", design];
  else {
    // What is no design of the list is told so by the engine.
    if (![...$("design").options].some(option => option.value === design)) $("design").add(new Option(design, design));
    $("design").value = design;
  }
  typing();
  return { given: place.has("design") || place.has("program"), event: Number(place.get("event")) || null };
}

/* The design file is shown where one is typed; it begins as that of the design before. */
let before = DEFAULTS.design;
function typing() {
  const typed = $("design").value === "";
  $("typing").hidden = !typed;
  $("summary").textContent = typed ? "" : $("design").selectedOptions[0]?.title || "";
}
function changeDesign() {
  typing();
  if ($("design").value !== "") { before = $("design").value; return; }
  $("file").focus();
  if ($("file").value) return;
  $("file").value = `base = "${before}"\n`;
}

/* The command that shows a crash again. The names of its options, in their order, come from the program. */
const word = text => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\"'\"'")}'`;
function commandOf(request) {
  const design = request.design.includes("\n") ? "typed.toml" : request.design;
  const words = ["counterpoint", "crash", design, request.workload];
  for (const name of told.typed) {
    const values = [request[name]].flat().filter(value => value !== undefined && value !== null && value !== false);
    for (const value of values) words.push(`--${name.replaceAll("_", "-")}`, ...(value === true ? [] : [String(value)]));
  }
  return words.map(word).join(" ");
}

/* The verdict in a sentence. */
const number = count => count.toLocaleString("en");
function verdictOf(report) {
  const crashes = report.crash_points, failed = crashes - report.recovered;
  const every = crashes === 1 ? "the power failure that was tried" : `all ${number(crashes)} power failures`;
  if (report.holds === null) return ["kept", "Nothing was judged: no power failed after a store of the program"];
  if (failed) return ["broken", `Fails after ${number(failed)} of ${number(crashes)} power failures`];
  if (!report.holds) return ["leaks", `Recovers from ${every}, yet a rule is broken`];
  return ["kept", `Recovers from ${every}`];
}

/* The event at which a window without a violation opens: the first after which the boot has lines to put right, and did not
   have them at the beginning; else the first in which data becomes durable. */
function interesting(scene) {
  const booted = scene.points.filter(point => point.boot !== undefined).slice(1);
  const found = booted.find(point => scene.boots[point.boot].some(step => step.lines !== undefined));
  const durable = scene.marks.find(mark => mark.kind === "data persists");
  return (found || durable || { n: Math.floor((scene.first + scene.last) / 2) }).n;
}

let over = null, newest = null;
async function showAround(form, report, event) {
  const first = report.violations.length ? report.violations[0].crash_event : null;
  const at = event === null ? first : event;
  const scene = await ask("scene", at === null ? requestOf(form) : { ...requestOf(form), at_event: at });
  scene.command = commandOf(scene.reproduce);
  if (over !== null) over.abort();
  over = new AbortController();
  const template = $(`window-${Number(scene.counters !== null)}${Number(scene.cipher !== "none")}`);
  $("window").replaceChildren(template.content.cloneNode(true));
  const [verdict, sentence] = verdictOf(report);
  $("verdict").textContent = `${report.design} ${sentence[0].toLowerCase()}${sentence.slice(1)}`;
  $("verdict").className = `verdict ${verdict}`;
  $("coverage").textContent = report.coverage;
  $("shown").textContent = `Events ${number(scene.first)} to ${number(scene.last)} of ${number(report.crash_points)} are shown.`;
  $("around").max = report.crash_points;
  $("other").hidden = scene.first === 1 && scene.last >= report.crash_points;
  $("result").hidden = false;
  const opens = at === null ? interesting(scene) : at;
  const document = { name: report.design, scene, begin: scene.first, columns: null };
  showWindow({ designs: [document], open: opens - scene.first, over: over.signal });
  newest = { form, report };
}

async function compute(what, work) {
  if (location.protocol === "file:") {
    $("error").textContent = "A browser runs the engine only in a page that a server gives it: python3 -m http.server in the folder of the site.";
    return;
  }
  if (waiting.size) end(new Cancelled());
  $("error").textContent = "";
  busy(what);
  try {
    await work();
  } catch (error) {
    // Whoever cancelled has said what goes on.
    if (error instanceof Cancelled) return;
    $("error").textContent = error.message;
  }
  busy("");
}

async function run(event) {
  const form = chosen();
  const place = addressOf(form);
  if (event !== null) {
    const line = new URLSearchParams(location.hash.slice(1)).get("line");
    place.set("event", event);
    if (line !== null) place.set("line", line);
  }
  history.replaceState(null, "", `#${place}`);
  const what = worker === null ? "The engine is loaded and runs." : "The engine runs.";
  await compute(what, async () => {
    $("result").hidden = true;
    const report = await ask("crash", { ...requestOf(form), shrink: false, blame: false });
    await showAround(form, report, event);
    $("verdict").focus({ preventScroll: true });
  });
}

$("asked").addEventListener("submit", event => { event.preventDefault(); run(null); });
$("cancel").addEventListener("click", () => { end(new Cancelled()); busy(""); $("status").textContent = "Cancelled."; });
$("design").addEventListener("change", changeDesign);
$("example").addEventListener("change", () => { if ($("example").value) $("program").value = $("example").value; $("example").value = ""; });
$("other").addEventListener("submit", event => {
  event.preventDefault();
  const at = Number($("around").value);
  if (!at || newest === null) return;
  const place = new URLSearchParams(location.hash.slice(1));
  place.set("event", at);
  history.replaceState(null, "", `#${place}`);
  compute("The engine runs.", () => showAround(newest.form, newest.report, at));
});
/* Another design or program in the address is run; another event moves the handle, in the window that is shown. */
addEventListener("hashchange", () => {
  const same = String(addressOf(chosen()));
  const { given, event } = fromAddress();
  if (given && String(addressOf(chosen())) !== same) run(event);
});
const { given, event } = fromAddress();
if (given) run(event);
})();
