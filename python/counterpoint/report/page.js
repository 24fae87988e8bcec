"use strict";
/* What pages of charts and tables do: the head of a table sorts it, and a mark of a chart tells its value, to the pointer
   and to the arrow keys. Without scripts the pages say the same. */
const pages = (() => {
const SCALES = {{ scales | tojson }};
const VALUE = /^[<>~]?([-+]?\d[\d.,]*)(?: ?([%\wµ]{1,5}))?(?: ± .*)?$/;

/* A cell as a number: null where it is empty, undefined where it is a word. */
function measured(text) {
  if (text === "" || text === "-") return null;
  const found = VALUE.exec(text);
  return found ? Number(found[1].replaceAll(",", "")) * (SCALES[found[2]] ?? 1) : undefined;
}

function sort(table, column, down) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map(row => {
    const text = row.cells[column].textContent.trim();
    return { row, text, value: measured(text) };
  });
  const numbers = rows.every(one => one.value !== undefined);
  const turn = down ? -1 : 1;
  rows.sort((a, b) => {
    if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
    return turn * (numbers ? a.value - b.value : a.text.localeCompare(b.text, "en", { numeric: true }));
  });
  body.append(...rows.map(one => one.row));
}

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows.length < 2) continue;
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    if (head.textContent.trim() === "") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sort(table, column, down);
    });
  });
}

/* One box tells of what is pointed at, or reached by the keyboard. */
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "status");
document.body.append(tip);
let told = null;

function tell(mark, text) {
  hide();
  told = mark;
  mark.classList.add("told");
  tip.textContent = text;
  tip.classList.add("shown");
  place();
}

function place() {
  const at = told.getBoundingClientRect(), box = tip.getBoundingClientRect();
  const left = Math.min(Math.max(4, at.left + at.width / 2 - box.width / 2), innerWidth - box.width - 4);
  const above = at.top - box.height - 6;
  tip.style.left = `${left}px`;
  tip.style.top = `${above >= 4 ? above : Math.min(at.bottom + 6, innerHeight - box.height - 4)}px`;
}

function hide() {
  if (told) told.classList.remove("told");
  told = null;
  tip.classList.remove("shown");
}

const MARKS = ".mark-rect.role-mark > [aria-label], .mark-symbol.role-mark > [aria-label]";
const label = mark => mark.getAttribute("aria-label");

for (const figure of document.querySelectorAll("figure.drawn[role=img]")) {
  figure.tabIndex = 0;
  figure.addEventListener("pointerover", event => {
    const mark = event.target.closest(MARKS);
    if (mark) tell(mark, label(mark)); else hide();
  });
  figure.addEventListener("pointerleave", hide);
  figure.addEventListener("focusout", hide);
  figure.addEventListener("keydown", event => {
    const marks = [...figure.querySelectorAll(MARKS)].filter(mark => mark.getClientRects().length);
    const at = marks.indexOf(told);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at < 0 ? marks.length - 1 : at - 1,
      ArrowUp: at < 0 ? marks.length - 1 : at - 1, Home: 0, End: marks.length - 1 }[event.key];
    if (event.key === "Escape") hide();
    if (to === undefined || !marks.length) return;
    event.preventDefault();
    const mark = marks[(to + marks.length) % marks.length];
    mark.scrollIntoView({ block: "nearest", inline: "nearest" });
    tell(mark, label(mark));
  });
}
// A page that scrolls moves the marks: the words go with theirs while it can be seen.
addEventListener("scroll", () => {
  if (!told) return;
  const at = told.getBoundingClientRect();
  if (at.bottom < 0 || at.top > innerHeight) hide(); else place();
}, { passive: true });
addEventListener("keydown", event => { if (event.key === "Escape") hide(); });

return { tell, hide };
})();
