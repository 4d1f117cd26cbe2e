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
    byId(location.hash.slice(1))?.scrollIntoView({ behavior: "instant" });
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

function addresses() {
  window.addEventListener("hashchange", follow);
  byId("problem-close").addEventListener("click", () => { byId("problem").hidden = true; keepAddress(true); });
  document.addEventListener("click", (event) => { // links keep the state of the list
    const link = event.target.closest("a[href^='#']");
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    const target = link.getAttribute("href");
    if (target.startsWith("#case=")) go({ case: target.slice(6) });
    else { const part = byId(target.slice(1)); part.scrollIntoView(); part.focus({ preventScroll: true }); }
  });
}
