// Transcripts come in chunks of many cases, from inside the page or from files beside it, when they are asked for.

const starts = []; // the first case of each chunk
cases.chunk.forEach((chunk, place) => { starts[chunk] ??= place; });

const KEPT = 6; // chunks in memory
const loaded = new Map();
const waiting = new Map();
window.agentgaugeChunk = (number, text) => waiting.get(number)?.(text);

function load(number) {
  const chunk = loaded.get(number) ?? fetched(number).then(unpack);
  loaded.delete(number);
  loaded.set(number, chunk); // the last one is the newest
  chunk.catch(() => loaded.delete(number));
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value);
  return chunk;
}

function fetched(number) {
  const inside = byId(`chunk-${number}`);
  if (inside) return Promise.resolve(inside.textContent);
  return new Promise((resolve, reject) => {
    waiting.set(number, resolve);
    const script = make("script", { src: `${times.beside}/${number}.js` });
    const end = (problem) => { waiting.delete(number); script.remove(); reject(new Error(problem)); };
    script.addEventListener("error", () => end(`The file ${times.beside}/${number}.js is not there; keep this page and that folder together.`));
    script.addEventListener("load", () => end(`The file ${times.beside}/${number}.js holds no transcripts.`));
    document.head.append(script);
  });
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}
// Parts of an opened case: steps, calls, what was expected beside what the model did, artifacts, pictures.

const TAGS = new Set(["div", "table", "caption", "thead", "tbody", "tr", "th", "td", "b", "i", "small", "p", "ul", "ol", "li", "h3", "h4", "pre", "code", "br"]);
function grown([tag, children]) {
  const empty = tag === "th" && !children.length; // then it heads nothing
  const element = document.createElement(empty ? "td" : TAGS.has(tag) ? tag : "span");
  for (const child of children) if (typeof child === "string") put(element, child); else element.append(grown(child));
  return element;
}

const lasted = (took) => (Array.isArray(took) ? `cached: ${seconds(took[0])} instead of ${seconds(took[1])}` : seconds(took));

function stepBlock(step, took, files) {
  const kind = step.error ? `${step.is} fault` : step.is;
  const name = step.role || step.is;
  const who = make("div", { class: "who" }, make("b", {}, step.given ? `${name} (${step.given})` : name), put(make("span"), step.name || ""), step.at === undefined ? "" : make("span", {}, lasted(took[step.at])));
  const block = make("div", { class: `step ${kind}` }, who);
  const shown = [];
  const text = (value, style) => { if (value) { shown.push(asText(value)); block.append(textBlock(asText(value), style)); } };
  if (step.is === "message") {
    text(contentOf(step.content));
    for (const call of step.tool_calls || []) block.append(callBlock(call.function || call));
  } else if (step.is === "model") {
    if (step.reasoning) block.append(make("details", {}, make("summary", {}, "reasoning"), textBlock(step.reasoning)));
    text(step.reply);
    text(step.refusal, "error");
    for (const call of step.calls || []) block.append(callBlock(call));
    if (!step.reply && !(step.calls || []).length && !step.error) block.append(make("p", { class: "quiet" }, "(an empty reply)"));
    if (step.cut) block.append(make("p", { class: "quiet" }, `(${step.cut})`));
  } else {
    block.append(callBlock({ name: step.name, arguments: step.arguments }));
    shown.push(asText(step.arguments));
    for (const output of step.result) text(output.content, "mono");
  }
  text(step.error, "error");
  block.append(pictures(shown.join("\n"), files));
  return block;
}

function read(value, reviver) {
  if (typeof value !== "string") return value;
  try { return JSON.parse(value, reviver); } catch { return value; }
}

// Keeps a number as it was written: 18.0, and more digits than a number of this language has.
const asWritten = (_, value, context) => (typeof value === "number" && context && JSON.rawJSON && context.source !== String(value) ? JSON.rawJSON(context.source) : value);
const sorted = (_, value) => (value && typeof value === "object" && !Array.isArray(value) ? Object.fromEntries(Object.entries(value).sort()) : value);
const same = (one, other) => JSON.stringify(one, sorted) === JSON.stringify(other, sorted);

function callBlock(call, other) {
  const block = make("div", { class: "call" });
  if (call.text !== undefined) { block.append(textBlock(call.text)); return block; }
  const given = read(call.arguments, asWritten);
  block.append(put(make("b"), call.name || ""));
  block.append(given && typeof given === "object" && !Array.isArray(given) ? argumentTable(given, other ? Object.keys(given).filter((name) => !same(read(call.arguments)[name], other[name])) : []) : textBlock(asText(given), "mono"));
  return block;
}

function argumentTable(given, off = []) {
  return make("table", { class: "args" }, make("tbody", {}, ...Object.entries(given).map(([name, value]) =>
    make("tr", {}, put(make("td", { class: off.includes(name) ? "off" : "" }), name), make("td", {}, textBlock(asText(value), "mono"))))));
}

// For each act one of the others: the same call, else a call of the same tool.
function partners(acts, others) {
  const left = [...others];
  const taken = (fits) => { const at = left.findIndex(fits); return at < 0 ? undefined : left.splice(at, 1)[0]; };
  const found = acts.map((act) => taken((one) => one.name === act.name && same(read(one.arguments), read(act.arguments))));
  return found.map((one, number) => one ?? taken(({ name }) => name === acts[number].name) ?? {});
}

// marked: where both sides differ. In a passed case they may, because not everything is judged.
function goldTable(rows, files, marked) {
  const side = (acts, others, label) => make("td", { "data-label": label }, ...partners(acts, others).map((other, number) => {
    const act = acts[number];
    const theirs = read(other.arguments);
    const block = callBlock(act, marked && typeof theirs === "object" ? theirs : null);
    if (marked && act.text === undefined) block.classList.add(act.name === other.name && same(read(act.arguments), theirs) ? "same" : "differs");
    return block;
  }), pictures(JSON.stringify(acts), files));
  const head = ["step", "expected", "actual"].map((name) => make("th", { scope: "col" }, name));
  return make("table", { class: "gold" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows.map((row) => make("tr", {},
    make("td", { "data-label": "step" }, String(row.step)), side(row.expected, row.got, row.others ? `expected (or ${row.others} other ways)` : "expected"), side(row.got, row.expected, "actual")))));
}

function pictures(text, files) {
  const place = make("div", { class: "pictures" });
  for (const [path, link] of Object.entries(files)) if (text.includes(path)) {
    const url = link.startsWith("run:") ? times.files + link.slice(4) : byId(link.slice(5))?.textContent ?? `${times.beside}/${link.slice(5)}`;
    const name = path.split("/").pop();
    const kind = name.split(".").pop().toLowerCase();
    const caption = put(make("figcaption"), name);
    if (["png", "jpg", "jpeg", "gif", "webp", "bmp", "svg"].includes(kind)) place.append(make("figure", {}, make("img", { src: url, alt: name }), caption));
    else if (["mp3", "wav", "ogg", "flac"].includes(kind)) place.append(make("figure", {}, make("audio", { src: url, controls: true, preload: "none" }), caption));
    else if (["mp4", "webm"].includes(kind)) place.append(make("figure", {}, make("video", { src: url, controls: true, preload: "none" }), caption));
    else place.append(put(make("a", { href: url, download: name }), name));
  }
  return place.children.length ? place : "";
}
// An opened case: the question and its pictures, how it ended and why, the expected steps beside the actual ones, the transcript.

const contentOf = (content) => (Array.isArray(content) ? content.map((part) => (part?.type === "text" ? asText(part.text) : asText(part))).join("\n") : asText(content ?? ""));

function story(place, said, took, clock) {
  const status = STATUSES[cases.status[place]];
  const files = said.files || {};
  const parts = [];
  const part = (title, ...content) => parts.push(make("h3", {}, title), ...content);
  const steps = said.steps || [];
  const opening = steps.slice(0, (steps.findIndex((step) => step.is !== "message") + 1 || steps.length + 1) - 1);
  const question = said.asked === undefined || said.asked === null ? "" : contentOf(steps[said.asked].content);
  const drawn = Object.fromEntries(Object.entries(files).filter(([path]) => opening.some((step) => contentOf(step.content).includes(path))));
  if (question) part("Question", make("div", { class: "question" }, textBlock(question), pictures(Object.keys(drawn).join("\n"), drawn)));
  const keywords = cases.tags[place].map((tag) => data.tags[tag]).filter((tag) => !(said.labels || []).includes(tag)).map((tag) => put(make("span", { class: "chip" }), tag));
  parts.push(make("div", { class: "chips" }, make("span", { class: `chip status is-${status}` }, status), ...(said.labels || []).map((label) => put(make("span", { class: "chip label" }), label)), ...keywords), facts(place, said));
  const judged = (said.artifacts || []).length; // its tree says what the verdict says
  if (said.verdict || said.error) parts.push(make("details", { open: !judged, class: `verdict is-${status}` }, make("summary", {}, said.error ? `Broken: ${said.cause || "unknown cause"}` : "Verdict"), textBlock(said.error || said.verdict, "mono")));
  const outlineAt = parts.length;
  for (const artifact of said.artifacts || []) part("Judged", make("div", { class: "artifact" }, grown(artifact)));
  if (said.gold && said.gold.length) part("Expected and actual", goldTable(said.gold, files, status !== "passed"));
  if (said.delivered && said.delivered.length) part("Delivered", ...said.delivered.map((path) => make("div", {}, put(make("code"), path))), pictures(said.delivered.join("\n"), files));
  const later = Object.fromEntries(Object.entries(files).filter(([path]) => !Object.hasOwn(drawn, path)));
  const blocks = steps.map((step) => stepBlock(step, took, opening.includes(step) ? later : files));
  if (steps.some((step) => step.at !== undefined)) parts.splice(outlineAt, 0, make("h3", {}, "Steps and time"), ...timeline(steps, blocks, took, clock));
  const offered = Object.keys(said.tools || {}).length;
  if (steps.length) part("Transcript", offered ? make("details", {}, make("summary", {}, `Tools offered (${offered})`), argumentTable(said.tools)) : "", /\{(ROOT|RUN)\}\//.test(JSON.stringify(steps)) ? make("p", { class: "quiet" }, "Files are shown by their names; the model got the full paths.") : "", ...blocks);
  if (said.values && Object.keys(said.values).length) parts.push(make("details", {}, make("summary", {}, "What the case adds to the figures"), argumentTable(said.values)));
  return parts;
}

// The requests and calls of a case along its time, each leading to its step, and the time by what it went to.

const MOMENTS = 12; // that are shown before the others are folded
const SPENT = [["endpoint", "model", "at the endpoint"], ["tools", "tool", "in tools"], ["slots", "wait", "waiting for a slot"]];

function timeline(steps, blocks, took, clock) {
  const lasts = (at) => (Array.isArray(took[at]) ? took[at][0] : took[at]) ?? 0;
  const ends = steps.filter(({ at }) => at !== undefined).map(({ at }) => (clock.starts?.[at] ?? 0) + lasts(at));
  const all = Math.max(...ends, clock.seconds ?? 0) || 1;
  const bar = (kind, from, width) => { const part = make("i", { class: kind }); part.style.left = `${(100 * from) / all}%`; part.style.width = `max(2px, ${(100 * width) / all}%)`; return part; };
  const moments = steps.flatMap((step, number) => (step.at === undefined ? [] : [make("button", { type: "button", class: "moment", onclick: () => { blocks[number].tabIndex = -1; blocks[number].scrollIntoView(); blocks[number].focus({ preventScroll: true }); } },
    plain(step.is === "tool" ? step.name : [step.role || "model", (step.calls || []).map((call) => call.name).join(", ")].filter(Boolean).join(" → ")),
    make("span", { class: "rail" }, bar(step.error ? "fault" : step.is, clock.starts?.[step.at] ?? 0, lasts(step.at))), make("b", {}, seconds(lasts(step.at))))]));
  const spent = SPENT.map(([name, kind, title]) => [kind, title, clock.waits?.[name] ?? 0]);
  spent.push(["own", "in between", Math.max(0, all - spent.reduce((sum, [, , value]) => sum + value, 0))]);
  let from = 0;
  const rail = make("div", { class: "rail whole", "aria-hidden": "true" }, ...spent.filter(([, , value]) => value > 0).map(([kind, , value]) => { from += value; return bar(kind, from - value, value); }));
  const words = make("p", { class: "quiet spent" }, `${seconds(clock.seconds)}: `, ...spent.filter(([kind, , value]) => value > 0.0005 || kind === "wait").map(([kind, title, value]) => make("span", {}, make("i", { class: `key ${kind}` }), `${seconds(value)} ${title}`)), clock.waits?.scoring ? make("span", {}, `then ${seconds(clock.waits.scoring)} scoring`) : "");
  return [clock.waits && Object.keys(clock.waits).length ? make("div", {}, rail, words) : "", make("div", { class: "moments" }, ...moments.slice(0, MOMENTS)), moments.length > MOMENTS ? make("details", {}, make("summary", {}, `${moments.length - MOMENTS} more`), make("div", { class: "moments" }, ...moments.slice(MOMENTS))) : ""].filter(Boolean);
}

function facts(place, said) {
  if (said.unshown) return put(make("p", { class: "unshown" }), said.unshown);
  if (!said.usage) return make("p", {}, "This case was not attempted.");
  const [requests, prompt, completion, usd] = said.usage;
  const parts = [`${counted(requests, "request")}`, `${whole.format(prompt)} tokens in, ${whole.format(completion)} tokens out`, usd ? dollars(usd) : "", seconds(times.seconds[place])];
  return make("p", { class: "quiet" }, parts.filter(Boolean).join(" · "));
}

// What was said in a step: contents, replies, calls, results and errors.
function saidIn(step) {
  const call = ({ name, arguments: given }) => `${name}(${asText(given)})`;
  const calls = (step.calls || step.tool_calls || []).map((each) => call(each.function || each));
  const results = (step.result || []).map((output) => asText(output.content));
  const words = step.is === "tool" ? [call(step), ...results] : [contentOf(step.content), step.reply, step.refusal, ...calls];
  return [...words, step.error].filter(Boolean);
}

// The case as plain text, for the clipboard.
function plainText(place, said) {
  const step = (one) => [`[${one.role || one.is}${one.name ? ` ${one.name}` : ""}]`, ...saidIn(one)].join("\n");
  return [byId("case-title").textContent, STATUSES[cases.status[place]], said.error || said.verdict, ...(said.steps || []).map(step)].filter(Boolean).join("\n\n");
}
// The dialog with an opened case: its neighbours in the list, a search in it, and the case as text and JSON.

const opened = { place: -1, said: null, took: [], clock: {} };
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
    const { said, seconds: took, clock } = chunk[place - starts[cases.chunk[place]]];
    Object.assign(opened, { said, took, clock });
    folded.clear();
    showParts(story(place, said, took, clock));
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

const rawCase = () => JSON.stringify({ task: taskName(opened.place), sample: cases.sample[opened.place], attempt: cases.attempt[opened.place], status: STATUSES[cases.status[opened.place]], ...opened.said, seconds: opened.took, clock: opened.clock }, null, 2);

function showRaw() {
  const raw = byId("raw").getAttribute("aria-pressed") !== "true";
  folded.clear();
  showParts(raw ? [textBlock(rawCase(), "mono")] : story(opened.place, opened.said, opened.took, opened.clock));
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
// Everything begins here.

explanations();
header();
boards();
breakdowns();
overview();
curves();
cost();
filters();
dialogs();
addresses();
follow();
