// The dialog with an opened case: its neighbours in the list, a search in it, and the case as text and JSON.

const opened = { place: -1, said: null, took: [] };
const title = document.title; // of the page without a case

async function openCase(place) {
  const at = view.cases.indexOf(place);
  byId("previous").disabled = at <= 0;
  byId("next").disabled = at < 0 || at + 1 >= view.cases.length;
  if (opened.place === place) return;
  Object.assign(opened, { place, said: null });
  const body = byId("case-body");
  byId("case-title").replaceChildren();
  put(byId("case-title"), `${taskName(place)} · ${cases.sample[place]}${groups ? ` · attempt ${cases.attempt[place]} of ${groups.of[place].length}` : ""}`);
  document.title = `${byId("case-title").textContent} · ${title}`;
  body.replaceChildren(make("p", { class: "quiet" }, "Loading …"));
  tools(false);
  if (!byId("case").open) byId("case").showModal();
  body.focus();
  try {
    const chunk = await load(cases.chunk[place]);
    if (opened.place !== place) return;
    const { said, seconds: took } = chunk[place - starts[cases.chunk[place]]];
    Object.assign(opened, { said, took });
    folded.clear();
    showParts(story(place, said, took));
    body.scrollTop = 0;
    tools(true);
  } catch (error) {
    if (opened.place === place) body.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
  }
}

// Shows the parts of a case; those that scroll can be reached by keys.
function showParts(parts) {
  byId("case-body").replaceChildren(...parts);
  for (const part of byId("case-body").querySelectorAll(".text, .artifact, .wide")) if (part.scrollHeight > part.clientHeight || part.scrollWidth > part.clientWidth) part.tabIndex = 0;
}

function tools(ready) {
  for (const id of ["within", "copy", "raw", "download"]) byId(id).disabled = !ready;
  byId("raw").setAttribute("aria-pressed", "false");
  byId("case-said").textContent = "";
  unmark();
  if (ready && byId("within").value) searchWithin();
}

const rawCase = () => JSON.stringify({ task: taskName(opened.place), sample: cases.sample[opened.place], attempt: cases.attempt[opened.place], status: STATUSES[cases.status[opened.place]], ...opened.said, seconds: opened.took }, null, 2);

function showRaw() {
  const raw = byId("raw").getAttribute("aria-pressed") !== "true";
  folded.clear();
  showParts(raw ? [textBlock(rawCase(), "mono")] : story(opened.place, opened.said, opened.took));
  byId("raw").setAttribute("aria-pressed", String(raw));
  if (byId("within").value) searchWithin();
}

async function copyCase() {
  try {
    await navigator.clipboard.writeText(byId("raw").getAttribute("aria-pressed") === "true" ? rawCase() : plainText(opened.place, opened.said));
    byId("case-said").textContent = "Copied.";
  } catch { byId("case-said").textContent = "This browser does not let the page copy. Use Download."; }
}

function downloadCase() {
  const url = URL.createObjectURL(new Blob([rawCase()], { type: "application/json" }));
  const name = [taskName(opened.place), cases.sample[opened.place], cases.attempt[opened.place]].join("-").replace(/[^\w.-]+/g, "_").slice(0, 120);
  make("a", { href: url, download: `${name}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// -- search in the case: matches are marked without a change of the elements

const MOST = 10_000; // matches that are marked
const marks = { ranges: [], at: -1, more: false };
const canMark = typeof Highlight === "function" && CSS.highlights;

function unmark() {
  Object.assign(marks, { ranges: [], at: -1, more: false });
  if (canMark) CSS.highlights.clear();
}

function searchWithin() {
  unmark();
  const words = byId("within").value;
  if (!words) { byId("case-said").textContent = ""; return; }
  const wanted = new RegExp(words.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "giu");
  for (const { text, show } of [...folded.values()]) if (text.search(wanted) >= 0) show();
  for (const range of rangesOf(wanted)) {
    marks.more = marks.ranges.length === MOST;
    if (marks.more) break;
    marks.ranges.push(range);
  }
  if (canMark) {
    const all = new Highlight(); // not with the ranges as arguments: a call has room for few
    for (const range of marks.ranges) all.add(range);
    CSS.highlights.set("match", all);
  }
  nextMark(1);
}

function* rangesOf(wanted) {
  const walker = document.createTreeWalker(byId("case-body"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) for (const match of node.data.matchAll(wanted)) {
    const range = new Range();
    range.setStart(node, match.index);
    range.setEnd(node, match.index + match[0].length);
    yield range;
  }
}

function nextMark(step) {
  const count = marks.ranges.length;
  if (!count) { byId("case-said").textContent = "Not found in this case."; return; }
  marks.at = (marks.at + step + count) % count;
  const range = marks.ranges[marks.at];
  const element = range.startContainer.parentElement;
  for (let fold = element.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  if (canMark) CSS.highlights.set("here", new Highlight(range));
  element.scrollIntoView({ block: "center" });
  byId("case-said").textContent = `${whole.format(marks.at + 1)} of ${marks.more ? "more than " : ""}${whole.format(count)}`;
}

function dialogs() {
  const move = (step) => {
    const at = view.cases.indexOf(opened.place);
    const place = at < 0 ? undefined : view.cases[at + step];
    if (place !== undefined) go({ case: caseName(place) }, true);
  };
  byId("previous").addEventListener("click", () => move(-1));
  byId("next").addEventListener("click", () => move(1));
  byId("close").addEventListener("click", () => byId("case").close());
  byId("case").addEventListener("close", () => {
    if (document.activeElement.matches("body, #case, #case *")) (linkTo(caseHash(opened.place)) ?? byId("case-table")).focus();
    Object.assign(opened, { place: -1, said: null });
    document.title = title;
    if (!state.case) return; // the address has changed before
    if (history.state?.opens) history.back(); else go({ case: "" }, true);
  });
  byId("case").addEventListener("keydown", (event) => {
    if (event.target.closest("video, audio, input") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") move(-1);
    if (event.key === "ArrowRight") move(1);
  });
  byId("within").addEventListener("input", searchWithin);
  byId("within").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); nextMark(event.shiftKey ? -1 : 1); }
    if (event.key === "Escape" && event.target.value) { event.preventDefault(); event.target.value = ""; searchWithin(); }
  });
  byId("copy").addEventListener("click", copyCase);
  byId("raw").addEventListener("click", showRaw);
  byId("download").addEventListener("click", downloadCase);
}
