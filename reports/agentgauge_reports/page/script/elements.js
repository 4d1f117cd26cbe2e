// Elements, figures and tables. What a model, a tool or a judge wrote comes in as JSON and goes into the page as text,
// never as markup.

const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent); // equal in equal runs
const times = JSON.parse(byId("times").textContent); // what depends on the clock
const cases = data.cases;
const STATUSES = ["passed", "wrong", "broken", ...(data.boards.length ? ["missing"] : [])]; // a project's own tests are not missing
const PUBLISHED = data.boards.some((board) => board.editions.some((edition) => edition.rows.length));
const UNSORTED = data.faults.every(([kind]) => data.kinds[kind][0] === "other"); // no case says why it is wrong or broken
const LONG = 4000; // characters of a text that are shown at once
const whole = new Intl.NumberFormat("en");

function make(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties || {})) {
    if (name === "class") element.className = value;
    else if (name === "onclick") element.addEventListener("click", value);
    else if (name.includes("-") || name === "role" || name === "scope") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

// Characters that cannot be seen, or that turn the direction of what follows, are shown by their number.
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;
const FOLDERS = /\{(?:RUN|ROOT)\}\/(?:[^\s"'`<>|*?\\()[\]{}/]*\/)*(?=[^\s"'`<>|*?\\()[\]{}/])/g; // of the run and of the data, which only records name like this
function put(element, said) {
  const text = said.replace(FOLDERS, "");
  let start = 0;
  for (const match of text.matchAll(CONTROL)) {
    element.append(text.slice(start, match.index));
    const code = match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    element.append(make("span", { class: "ctl", title: "a character that is not shown as such" }, `U+${code}`));
    start = match.index + match[0].length;
  }
  element.append(text.slice(start));
  return element;
}

const folded = new Map(); // button → a text that is not shown as a whole, and what shows it
function textBlock(text, kind) {
  const element = make("div", { class: `text ${kind || ""}`, dir: "auto" });
  if (text.length <= LONG) return put(element, text);
  put(element, `${text.slice(0, LONG)}…`);
  const show = () => { element.replaceChildren(); put(element, text); button.remove(); folded.delete(button); };
  const button = make("button", { type: "button", onclick: show }, `Show all ${whole.format(text.length)} characters`);
  folded.set(button, { text, show });
  return make("div", {}, element, button);
}

const limited = (name, limit) => (limit ? `${name} (${limit})` : name); // rows of a run with --limit say so
const counted = (count, name) => `${whole.format(count)} ${name}${count === 1 ? "" : "s"}`;
const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1) ?? "");
const TIME = times.working ? "working time" : "time"; // of cases: without waiting for slots, which earlier versions did not note
const seconds = (value) => (value === undefined || value === null ? "" : value >= 100 ? `${value.toFixed(0)} s` : value >= 1 ? `${value.toFixed(1)} s` : `${Math.round(value * 1000)} ms`);
const span = (value) => { // of minutes and hours, as a person says it
  const [hours, minutes, rest] = [Math.floor(value / 3600), Math.floor((value % 3600) / 60), Math.floor(value % 60)];
  if (hours) return `${whole.format(hours)} h ${minutes} min`;
  return minutes ? `${minutes} min ${rest} s` : seconds(value);
};
const dollars = (value) => (value ? `$${value < 0.001 ? value.toPrecision(2) : value.toFixed(value < 0.1 ? 4 : 2)}` : "–");

// -- what a figure is: shown where the pointer, a finger or the keyboard's focus is

function about(element, text) {
  if (!text) return element;
  element.dataset.about = text;
  element.classList.add("explained");
  if (element.tagName !== "BUTTON") element.tabIndex = 0;
  element.setAttribute("aria-description", text);
  return element;
}

function explanations() {
  const tip = byId("about");
  const hide = () => { tip.hidden = true; };
  const show = (event) => {
    const element = event.target.closest?.("[data-about]");
    if (!element) { hide(); return; }
    tip.replaceChildren();
    put(tip, element.dataset.about);
    tip.hidden = false;
    const [place, size] = [element.getBoundingClientRect(), tip.getBoundingClientRect()];
    tip.style.left = `${Math.max(8, Math.min(place.left, document.documentElement.clientWidth - size.width - 8))}px`;
    tip.style.top = `${place.bottom + size.height + 8 > innerHeight ? Math.max(8, place.top - size.height - 6) : place.bottom + 6}px`;
  };
  for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, show);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, { capture: true, passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
}

// A table whose columns sort: columns are {name, num, help, sort}, rows {cells: [node or text], keys: [sort keys], class, apart: before all others}.
function table(columns, rows, { kind = "", sorted = null, sortable = true, wrap = "" } = {}) {
  const body = make("tbody");
  const head = make("tr");
  const fill = () => body.replaceChildren(...rows.map((row) => make("tr", { class: row.class || "" },
    ...row.cells.map((cell, place) => make("td", { class: `${columns[place].num ? "num" : ""} ${columns[place].kind || ""}` }, cell)))));
  const order = (place, down) => {
    const key = (row) => (row.keys ? row.keys[place] : row.cells[place]);
    rows.sort((one, other) => (other.apart ? 1 : 0) - (one.apart ? 1 : 0) || compare(key(one), key(other), down));
    [...head.children].forEach((cell, number) => cell.setAttribute("aria-sort", number === place ? (down ? "descending" : "ascending") : "none"));
    fill();
  };
  columns.forEach((column, place) => {
    const cell = make("th", { class: column.num ? "num" : "", scope: "col" });
    if (sortable) cell.append(about(make("button", { type: "button", onclick: () => order(place, cell.getAttribute("aria-sort") === "descending" ? false : column.num || cell.getAttribute("aria-sort") === "ascending") }, column.name), column.help));
    else cell.append(column.name);
    head.append(cell);
  });
  if (sorted) order(...sorted); else fill();
  return make("div", { class: `wide ${wrap}`, tabIndex: sortable ? -1 : 0 }, make("table", { class: kind }, make("thead", {}, head), body));
}

// Empty values come last in both directions.
const collator = new Intl.Collator("en", { numeric: true }); // much faster than localeCompare, which counts among many cases
function compare(one, other, down) {
  const [a, b] = [one, other].map((value) => (value === null || value === undefined || Number.isNaN(value)));
  if (a || b) return a - b;
  const found = typeof one === "number" ? one - other : collator.compare(String(one), String(other));
  return down ? -found : found;
}
