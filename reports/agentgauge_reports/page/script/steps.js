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
  const who = make("div", { class: "who" }, make("b", {}, step.is === "message" && step.role === "assistant" ? "assistant (not written by the model)" : name), put(make("span"), step.name || ""), step.at === undefined ? "" : make("span", {}, lasted(took[step.at])));
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

function read(value) {
  if (typeof value !== "string") return value;
  try { return JSON.parse(value); } catch { return value; }
}

function callBlock(call, other) {
  const block = make("div", { class: "call" });
  if (call.text !== undefined) { block.append(textBlock(call.text)); return block; }
  const given = read(call.arguments);
  block.append(put(make("b"), call.name || ""));
  block.append(given && typeof given === "object" && !Array.isArray(given) ? argumentTable(given, other) : textBlock(asText(given), "mono"));
  return block;
}

function argumentTable(given, other) {
  return make("table", { class: "args" }, make("tbody", {}, ...Object.entries(given).map(([name, value]) => {
    const off = other && JSON.stringify(value) !== JSON.stringify(other[name]);
    return make("tr", {}, put(make("td", { class: off ? "off" : "" }), name), make("td", {}, textBlock(asText(value), "mono")));
  })));
}

function goldTable(rows, files) {
  const side = (acts, others, label) => make("td", { "data-label": label }, ...acts.map((act, number) => {
    const other = others[number] || {};
    const theirs = other.arguments && typeof other.arguments === "object" ? other.arguments : {};
    const block = callBlock(act, act.text === undefined ? theirs : null);
    if (act.text === undefined) block.classList.add(act.name === other.name && JSON.stringify(act.arguments) === JSON.stringify(other.arguments) ? "same" : "differs");
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
