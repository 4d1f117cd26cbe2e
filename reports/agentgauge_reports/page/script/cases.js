// The address is the state of the list and of the opened case: what stands behind # can be kept, sent, and gone back to.

const NOTHING = { words: "", task: "", status: "", kind: "", sort: "", columns: "", page: "", case: "" };
let state = NOTHING;
let typing = 0; // the timer that writes typed words into the address

const caseName = (place) => [taskName(place), cases.sample[place], cases.attempt[place]].map((part) => encodeURIComponent(part)).join("/");
const caseHash = (place) => `#case=${caseName(place)}`;
const written = (wanted) => {
  const parts = Object.keys(NOTHING).filter((name) => wanted[name]).map((name) => `${name}=${name === "case" ? wanted.case : encodeURIComponent(wanted[name])}`);
  return parts.length ? `#${parts.join("&")}` : "";
};

// Returns the state that a hash names. Throws what is wrong with it.
function readAddress(hash) {
  const found = { ...NOTHING };
  for (const part of hash.slice(1).split("&").filter((one) => one.includes("="))) { // else it is a part of this page
    const name = part.slice(0, part.indexOf("="));
    const value = part.slice(name.length + 1);
    if (!Object.hasOwn(NOTHING, name)) throw new Error(`The link asks for “${name}”, which this page does not know.`);
    try {
      found[name] = name === "case" ? value.split("/").map((one) => encodeURIComponent(decodeURIComponent(one))).join("/") : decodeURIComponent(value);
    } catch { throw new Error(`The link is damaged: “${part}” cannot be read.`); }
  }
  const known = { task: data.tasks.map((task) => task.name), status: STATUSES, kind: data.kinds.map(([name]) => name) };
  for (const [name, values] of Object.entries(known)) if (found[name] && !values.includes(found[name])) throw new Error(`The link asks for cases with ${name} “${found[name]}”, and this run has none.`);
  const columns = [...found.columns.split(","), found.sort.replace(/^-/, "")].filter(Boolean);
  for (const name of columns) if (!COLUMNS.some((column) => column.id === name)) throw new Error(`The link asks for the column “${name}”, which this page does not have.`);
  if (found.page && !/^[1-9]\d{0,8}$/.test(found.page)) throw new Error(`The link asks for page “${found.page}”, which is not a page number.`);
  if (found.case && placeOf(found.case) < 0 && placeOf(`${found.case}/1`) >= 0) found.case += "/1";
  if (found.case && placeOf(found.case) < 0) throw new Error(`The link asks for the case “${decodeURIComponent(found.case)}”, which is not in this run.`);
  return found;
}

let placeByName = null; // of cases, by their names; made when the first is asked for
function placeOf(name) {
  placeByName ??= new Map(cases.sample.map((_, place) => [caseName(place), place]));
  return placeByName.get(name) ?? -1;
}

function change(changes) {
  state = { ...state, ...changes };
  byId("problem").hidden = true;
}

// Changes the state, and the address with it. Quietly: the last entry of the browser's history is replaced.
function go(changes, quietly = false) {
  const opens = Boolean(changes.case) && !state.case;
  if (!quietly) keepAddress(true); // what was typed a moment ago belongs to the entry that is left
  change(changes);
  keepAddress(quietly, { opens });
  showState();
}

// Writes the state into the address. about: of a new entry, whether it opens a case, so that the one before lists it.
function keepAddress(quietly, about = null) {
  clearTimeout(typing); // what was typed is written now: later it could go into the entry that a closed case goes back to
  const hash = written(state);
  if (hash === (location.hash.includes("=") ? location.hash : "")) return;
  const url = hash || location.pathname + location.search;
  if (quietly) history.replaceState(history.state, "", url); else history.pushState(about, "", url);
}

function follow() {
  byId("problem").hidden = true;
  if (location.hash && !location.hash.includes("=")) { // a part of this page
    showState();
    reveal(byId(location.hash.slice(1)))?.scrollIntoView({ behavior: "instant" });
    return;
  }
  try { state = readAddress(location.hash); } catch (error) {
    state = NOTHING;
    byId("problem-text").replaceChildren();
    put(byId("problem-text"), `${error.message} All cases are listed instead.`);
    byId("problem").hidden = false;
  }
  showState();
}

function showState() {
  list();
  if (state.case) openCase(placeOf(state.case));
  else if (byId("case").open) byId("case").close();
}

// Opens what a part of the page is folded into, and returns the part.
function reveal(part) {
  for (const fold of part?.querySelectorAll(":scope > details.fold") ?? []) fold.open = true;
  return part;
}

function addresses() {
  window.addEventListener("hashchange", follow);
  byId("problem-close").addEventListener("click", () => { byId("problem").hidden = true; keepAddress(true); });
  document.addEventListener("click", (event) => { // links keep the state of the list
    const link = event.target.closest("a[href^='#']");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const target = link.getAttribute("href");
    if (target.startsWith("#case=")) go({ case: target.slice(6) });
    else { const part = reveal(byId(target.slice(1))); part.scrollIntoView(); part.focus({ preventScroll: true }); }
  });
}
// The list of cases: filtered, sorted, grouped by sample, with the columns that the reader chose.

const PAGE = 20;
const taskName = (place) => data.tasks[cases.task[place]].name;
const textOf = (name) => (place) => data.texts[cases[name][place]];
const kindName = (place) => data.kinds[cases.kind[place]][1];
function wrapping(element, name) { // a name such as test_a.py::test_b goes on in the next line at a sign, not inside a word
  for (const part of name.split(/(?<=::|[/_])/)) { put(element, part); element.append(make("wbr")); }
  return element;
}
const caseLink = (place, long) => wrapping(make("a", { href: caseHash(place), title: cases.sample[place] }), (long ? `${taskName(place)} ` : "") + cases.sample[place] + (cases.attempt[place] > 1 ? ` (attempt ${cases.attempt[place]})` : ""));
const statusMark = (place) => make("span", {}, make("i", { class: `dot is-${STATUSES[cases.status[place]]}` }), STATUSES[cases.status[place]]);
const plain = (text, kind = "") => put(make("span", { class: kind }), text);
const PASSED = data.kinds.findIndex(([name]) => !name); // the kind of a case without a failure
const has = (name) => cases[name].some((text) => data.texts[text]);

// key: what a case is sorted by, and what its cell shows unless cell is given; off: the column is shown where it is chosen.
const COLUMNS = [
  { id: "task", key: taskName },
  { id: "sample", key: (place) => cases.sample[place], cell: (place) => caseLink(place), kind: "sample" },
  { id: "status", key: (place) => cases.status[place], cell: (place) => make("span", {}, statusMark(place), UNSORTED || cases.kind[place] === PASSED ? "" : plain(kindName(place), "reason")) },
  { id: "question", key: textOf("question"), kind: "question" },
  { id: "expected", key: textOf("expected"), kind: "answer", off: !has("expected") },
  { id: "got", key: textOf("got"), kind: "answer", off: !has("got") },
  { id: "verdict", key: textOf("why"), kind: "why", off: has("expected") || !has("why") }, // else it stands in place of answers
  { id: "reason", key: kindName, off: true },
  { id: "finish", name: "finish reason", key: textOf("finish"), off: new Set(cases.finish).size < 2 },
  { id: "requests", num: true, key: (place) => cases.requests[place], off: !cases.requests.some(Boolean) },
  { id: "calls", name: "tool calls", num: true, key: (place) => cases.calls[place], off: true },
  { id: "errors", name: "tool errors", num: true, key: (place) => cases.errors[place], off: true },
  { id: "tokens", num: true, key: (place) => cases.tokens[place], off: !cases.tokens.some(Boolean) },
  { id: "cost", num: true, key: (place) => cases.usd[place], format: dollars, off: !cases.usd.some(Boolean) },
  { id: "time", name: TIME, num: true, key: (place) => times.seconds[place], format: seconds },
  { id: "tags", key: (place) => TEXTS.tag(place).join(", "), off: true },
  { id: "names", name: "tools and files", key: textOf("named"), kind: "question", off: true },
];
const usual = COLUMNS.filter((column) => !column.off).map(({ id }) => id);
const chosen = () => COLUMNS.filter(({ id }) => (state.columns ? state.columns.split(",") : usual).includes(id));

// Attempts at one sample, where a run has several; null where it has one each.
const groups = cases.attempt.some((attempt) => attempt > 1) ? (() => {
  const byName = new Map();
  const of = cases.sample.map((sample, place) => {
    const name = `${cases.task[place]} ${sample}`;
    if (!byName.has(name)) byName.set(name, []);
    byName.get(name).push(place);
    return byName.get(name);
  });
  return { of, opened: new Set() };
})() : null;
const passes = (places) => places.filter((place) => cases.status[place] === 0).length;

const view = { key: null, units: [], cases: [] }; // a unit: the cases found of one sample, or one case

function unitKey(column, unit) {
  if (column.num) return unit.reduce((sum, place) => sum + column.key(place), 0);
  if (groups && column.id === "status") return passes(groups.of[unit[0]]) / groups.of[unit[0]].length;
  return column.key(unit[0]);
}

function arrange() {
  const places = foundCases();
  const units = groups ? [...places.reduce((all, place) => {
    const group = groups.of[place];
    if (!all.has(group)) all.set(group, []);
    all.get(group).push(place);
    return all;
  }, new Map()).values()] : places.map((place) => [place]);
  const column = COLUMNS.find(({ id }) => id === state.sort.replace(/^-/, ""));
  if (column) {
    const keys = new Map(units.map((unit) => [unit, unitKey(column, unit)]));
    units.sort((one, other) => compare(keys.get(one), keys.get(other), state.sort.startsWith("-")) || one[0] - other[0]);
  }
  Object.assign(view, { units, cases: units.flat() });
}

function list() {
  const { words, task, status, kind, sort, page } = state;
  const key = JSON.stringify([words, task, status, kind, sort, replies.words, replies.found.size]);
  if (key !== view.key) arrange();
  view.key = key;
  for (const id of ["words", "task", "status", "kind"]) if (byId(id).value !== state[id]) byId(id).value = state[id];
  for (const box of byId("columns").querySelectorAll("input")) box.checked = chosen().some(({ id }) => id === box.value);
  byId("replies").hidden = !filterNow().words.length;
  byId("words-wrong").hidden = !filterNow().wrong;
  byId("words-wrong").replaceChildren();
  put(byId("words-wrong"), filterNow().wrong);
  endOutdated();
  const pages = Math.max(1, Math.ceil(view.units.length / PAGE));
  const number = Math.min(Number(page) || 1, pages);
  const rows = view.units.slice((number - 1) * PAGE, number * PAGE).flatMap(unitRows);
  const focused = document.activeElement.closest("#case-table a")?.getAttribute("href");
  byId("case-table").replaceChildren(make("table", { class: "cases full" }, make("thead", {}, make("tr", {}, ...chosen().map(headCell))), make("tbody", {}, ...rows)));
  if (focused) linkTo(focused)?.focus({ preventScroll: true });
  byId("found").textContent = `${whole.format(view.cases.length)} of ${whole.format(cases.sample.length)} cases${groups ? `, attempts at ${counted(view.units.length, "sample")}` : ""}`;
  const turn = (name, step) => make("button", { type: "button", disabled: number + step < 1 || number + step > pages, onclick: () => { go({ page: number + step > 1 ? String(number + step) : "" }); byId("cases").scrollIntoView(); } }, name);
  byId("pager").replaceChildren(turn("← Before", -1), `page ${whole.format(number)} of ${whole.format(pages)}`, turn("After →", 1));
}

const linkTo = (hash) => [...byId("case-table").querySelectorAll("a")].find((link) => link.getAttribute("href") === hash);

function headCell(column) {
  const down = state.sort === `-${column.id}`;
  const sorted = down || state.sort === column.id;
  const turned = () => {
    const next = sorted ? !down : Boolean(column.num);
    go({ sort: (next ? "-" : "") + column.id, page: "" });
    byId("case-table").querySelectorAll("th button")[chosen().indexOf(column)].focus();
  };
  const button = make("button", { type: "button", onclick: turned }, column.name || column.id);
  return make("th", { class: column.num ? "num" : "", scope: "col", "aria-sort": sorted ? (down ? "descending" : "ascending") : "none" }, button);
}

const cellOf = (column, content) => make("td", { class: `${column.num ? "num" : ""} ${column.kind || ""}`, "data-label": column.name || column.id }, content);
const keyCell = (column, key) => (column.format ? column.format(key) : column.num ? whole.format(key) : key === "" ? "" : plain(key));
const caseCell = (column, place) => cellOf(column, column.cell ? column.cell(place) : keyCell(column, column.key(place)));

// The cells of a case's row. Where a verdict says what was wrong and nothing else does, it takes the place of both answers.
function caseCells(place, cell) {
  const columns = chosen();
  const at = columns.findIndex(({ id }) => id === "expected");
  const said = textOf("why")(place);
  if (at < 0 || columns[at + 1]?.id !== "got" || !said || textOf("expected")(place)) return columns.map(cell);
  return columns.flatMap((column, number) => (number === at ? [make("td", { class: "why", colSpan: 2, "data-label": "verdict" }, plain(said))] : number === at + 1 ? [] : [cell(column)]));
}

function unitRows(unit) {
  if (!groups) return [make("tr", {}, ...caseCells(unit[0], (column) => caseCell(column, unit[0])))];
  const all = groups.of[unit[0]];
  const opened = groups.opened.has(all);
  const turned = (event) => {
    groups.opened[opened ? "delete" : "add"](all);
    const place = [...byId("case-table").querySelectorAll("button.fold")].indexOf(event.currentTarget);
    list();
    byId("case-table").querySelectorAll("button.fold")[place].focus();
  };
  const fold = wrapping(make("button", { type: "button", class: "fold", "aria-expanded": String(opened), onclick: turned }), cases.sample[unit[0]]);
  const failed = unit.find((place) => cases.status[place] !== 0) ?? unit[0];
  const heads = {
    sample: () => fold,
    status: () => make("span", { class: "passes" }, `${passes(all)}/${all.length} passed`),
    reason: () => plain(kindName(failed)),
    verdict: () => plain(textOf("why")(failed)),
    expected: () => plain(textOf("expected")(failed)),
    got: () => plain(textOf("got")(failed)),
    finish: () => plain(textOf("finish")(failed)),
    question: () => plain(all.map(textOf("question")).find(Boolean) ?? ""),
  };
  const head = make("tr", { class: "group" }, ...caseCells(failed, (column) => cellOf(column, heads[column.id] ? heads[column.id]() : keyCell(column, unitKey(column, unit)))));
  const attempt = (column, place) => {
    if (column.id === "task" || column.id === "question") return cellOf(column, "");
    return column.id === "sample" ? cellOf(column, make("a", { href: caseHash(place) }, `attempt ${cases.attempt[place]}`)) : caseCell(column, place);
  };
  return [head, ...(opened ? unit.map((place) => make("tr", { class: "attempt" }, ...caseCells(place, (column) => attempt(column, place)))) : [])];
}

// Lists the cases that a click elsewhere asks for.
function listed(wanted) {
  go({ ...NOTHING, columns: state.columns, sort: state.sort, ...wanted });
  byId("cases").scrollIntoView();
  byId("case-table").focus({ preventScroll: true });
}

function filters() {
  const used = [...new Set(cases.kind)].flatMap((kind) => [data.kinds[kind][0], data.kinds[kind][0].split("/")[0]]);
  const fill = (id, options) => byId(id).append(make("option", { value: "" }, "all"), ...options.map(([value, name]) => make("option", { value }, name)));
  fill("task", data.tasks.map((task) => [task.name, task.name]));
  fill("status", STATUSES.map((status) => [status, status]));
  byId("kind").parentElement.hidden = UNSORTED;
  fill("kind", data.kinds.filter(([name]) => name && used.includes(name)));
  byId("words").addEventListener("input", (event) => { // a browser allows few changes of the address in a second
    change({ words: event.target.value, page: "" });
    list();
    clearTimeout(typing);
    typing = setTimeout(() => keepAddress(true), 300);
  });
  for (const id of ["task", "status", "kind"]) byId(id).addEventListener("change", (event) => go({ [id]: event.target.value, page: "" }));
  byId("filters").addEventListener("reset", (event) => { event.preventDefault(); go({ words: "", task: "", status: "", kind: "", page: "" }); });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("replies").addEventListener("click", searchReplies);
  byId("replies-stop").addEventListener("click", () => { replies.running = false; });
  byId("grammar").lastElementChild.append(put(make("p"), `${ACCEPTED}. All of them must hold. For example: ${EXAMPLE}`),
    make("p", {}, "The filter is a part of this page’s address, so a copied address shows the same list. Upper and lower case are the same."));
  byId("columns").append(...COLUMNS.map((column) => make("label", {}, make("input", { type: "checkbox", value: column.id }), column.name || column.id)));
  const choice = byId("columns").parentElement;
  document.addEventListener("click", (event) => { if (!choice.contains(event.target)) choice.open = false; });
  choice.addEventListener("keydown", (event) => { if (event.key === "Escape") { choice.open = false; choice.firstElementChild.focus(); } });
  byId("columns").addEventListener("change", () => {
    const ids = [...byId("columns").querySelectorAll("input:checked")].map((box) => box.value);
    go({ columns: ids.join() === usual.join() ? "" : ids.join() });
  });
}
