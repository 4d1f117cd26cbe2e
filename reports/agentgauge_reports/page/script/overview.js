// Everything above the list of cases.

function header() {
  put(byId("model"), data.model);
  const date = times.started ? new Date(times.started * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "";
  const took = times.finished && times.started ? span(times.finished - times.started) : "";
  put(byId("facts"), [`run ${times.name}`, date, ...data.facts.map(([name, value]) => `${name} ${value}`)].filter(Boolean).join(" · "));
  const sums = STATUSES.map((status) => data.tasks.reduce((sum, task) => sum + task[status], 0));
  const all = sums.reduce((sum, count) => sum + count, 0);
  const total = (value, name, kind, what) => make("div", { class: "total" }, about(make("b", {}, value), what), make("span", {}, kind ? make("i", { class: `dot is-${kind}` }) : "", name));
  const shares = make("div", { class: "share", role: "img", "aria-label": STATUSES.map((status, place) => `${sums[place]} ${status}`).join(", ") });
  sums.forEach((count, place) => { const part = make("i", { class: `is-${STATUSES[place]}` }); part.style.width = `${(100 * count) / (all || 1)}%`; shares.append(part); });
  put(byId("opening"), data.opening);
  byId("heads").append(...data.boards.flatMap(({ benchmark, limit, top: figures }) => figures.map((top) =>
    make("div", { class: "total" }, about(make("b", { class: top.value === "incomplete" ? "small" : "" }, top.value, make("small", {}, top.interval && `95 %: ${top.interval}`)), headAbout(benchmark, top)),
      put(make("a", { href: "#results" }), `${limited(`${benchmark}: ${top.name}`, limit)}${top.n === null ? "" : ` · ${counted(top.n, "sample")}`}`), top.why ? make("span", { class: "lacks" }, top.why) : "", yardstick(top)))));
  for (const text of [data.alarm, ...data.doubts].filter(Boolean)) byId("heads").before(make("p", { class: "alarm", role: "alert" }, text));
  standing(sums);
  const used = data.usage;
  if (took) byId("totals").append(total(took, times.resumed ? "wall time of the last session" : "wall time of the run", "", "From the start of the run to its end, by the clock."));
  byId("totals").append(total(whole.format(all), "cases", "", "All planned cases: each sample of each task, as often as it is attempted."), ...sums.map((count, place) => total(whole.format(count), STATUSES[place], STATUSES[place], MEANS[STATUSES[place]])),
    total(whole.format(used.prompt_tokens + used.completion_tokens), "tokens", "", `${whole.format(used.prompt_tokens)} of prompts and ${whole.format(used.completion_tokens)} of replies, as endpoints count them, in ${counted(used.requests ?? 0, "request")}.`),
    used.usd ? total(dollars(used.usd), "cost", "", "US dollars for all requests, by list prices or those of agentgauge.toml, without discounts and taxes.") : "",
    used.usd_per_passed ? total(dollars(used.usd_per_passed), "cost per passed case", "", "The cost of all cases, divided by the number of passed ones.") : "", used.cached_tokens ? total(`${((100 * used.cached_tokens) / used.prompt_tokens).toFixed(0)} %`, "of prompt tokens cached", "", "Prompt tokens that the server of the model read from its own cache.") : "",
    used.cached_requests ? total(`${whole.format(used.cached_requests)} of ${whole.format(used.requests)}`, `requests answered by --cache${used.saved_usd ? `, which first cost ${dollars(used.saved_usd)}` : ""}`, "", "Requests that were not sent, because the folder of --cache had their answers.") : "",
    total(span(times.total), `${TIME} summed over cases${times.working ? "" : ", waiting for slots included"}`, "", ["Cases run concurrently, so this is more than the wall time.", ...times.waits.map(([took, what]) => `${span(took)} ${what}`)].join(" ")), shares);
  byId("foot").append("One file, no network: it opens from a disk. Transcripts ", data.embedded ? "are inside it." : make("span", {}, "lie beside it in the folder ", make("code", {}, times.beside), "; keep both together."), times.unseen ? ` ${times.unseen}` : "");
}

const MEANS = {
  passed: "Cases whose result the benchmark’s scoring accepts.", wrong: "Cases that ended with a result that the scoring does not accept.",
  broken: "Cases that a fault ended, such as one of an endpoint, a tool or a judge: nothing was scored.", missing: "Planned cases that were not attempted.",
};

// What a headline figure counts, and from where it is.
function headAbout(benchmark, top) {
  const of = top.n === null ? "combined from several tasks" : `of ${counted(top.n, "sample")}`;
  const ends = top.interval ? ` In 95 of 100 such runs, intervals computed like ${top.interval} contain the value for all samples of this kind.` : "";
  const known = top.yardstick ? ` Median and best are those of ${counted(top.yardstick.rows, "model")} in “${top.yardstick.table}”, by its authors.` : " No published table has this figure.";
  const least = top.floor === null ? "" : ` Floor: what the built-in model baseline, which follows fixed rules, reached on the same samples.`;
  return `${top.name}, a headline figure of ${benchmark} (${top.help}), ${of}, as in summary.json.${ends}${known}${least}`;
}

// A strip from 0 to 100: the interval and value of this run, the median and the best of the published models, the floor.
function yardstick({ yardstick: published, floor, ours: [value, low, high] }) {
  if (!published && floor === null) return "";
  const strip = make("span", { class: "strip", "aria-hidden": "true" });
  const at = (kind, from, to = from) => {
    const mark = make("i", { class: kind });
    mark.style.left = `${Math.min(100, Math.max(0, from))}%`;
    if (to > from) mark.style.width = `${Math.min(100, to) - from}%`;
    strip.append(mark);
  };
  if (low !== null) at("band", low, high);
  if (published) at("median", published.median);
  if (published) at("best", published.best);
  if (floor !== null) at("floor", floor);
  if (value !== null) at("ours", value);
  const words = [published ? `published: median ${published.median.toFixed(2)}, best ${published.best.toFixed(2)} (${published.model})` : "", floor === null ? "" : `floor ${floor.toFixed(2)}`];
  return make("span", { class: "yardstick" }, strip, put(make("span"), words.filter(Boolean).join("; ")));
}

// Whether to believe the figures, and where the model fails.
function standing(sums) {
  const reasons = [...new Set(data.boards.flatMap((board) => board.reasons.map(([, reason]) => reason)))];
  const apart = PUBLISHED ? reasons.length ? `Not comparable with published rows, for ${counted(reasons.length, "reason")}${data.meaning ? "" : `, such as ${reasons[0]}`}.` : "Comparable with published rows." : "";
  const faulty = data.faulty.length && !data.alarm ? `${data.faulty.join(". ")}${sums[2] ? "; “clean” figures leave broken cases out" : ""}.` : "";
  for (const sentence of data.cut) byId("standing").append(make("p", {}, make("b", {}, `${sentence}.`)));
  byId("standing").append(data.meaning ? put(make("p"), data.meaning) : "", make("p", {}, apart ? put(make("a", { href: "#results" }), apart) : "", faulty ? ` ${faulty}` : ""));
}

const byCount = () => [...data.faults].sort(([, one], [, other]) => sum(other) - sum(one));

function capabilities() {
  const share = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));
  byId("capability-table").append(table([{ name: "capability" }, { name: "value", num: true }, { name: "95 % interval", num: true }, { name: "cases", num: true }, { name: "made of", kind: "quiet" }],
    data.capabilities.map((one) => ({ cells: [one.name, share(one.value), one.low === null ? "" : `${share(one.low)}–${share(one.high)}`, String(one.n), (one.made_of || []).join(", ")] })), { sortable: false }));
}

// Takes a part that would be empty away, with its link; says in a word what another one has.
function part(id, gist) {
  if (gist) byId(id).querySelector(".gist").textContent = gist;
  else for (const element of document.querySelectorAll(`#${id}, nav a[href='#${id}']`)) element.remove();
  return Boolean(gist);
}

const SHOWN = 6; // kinds of failures before the others are folded
function failures() {
  const most = Math.max(1, ...data.faults.map(([, counts]) => sum(counts)));
  const rows = byCount().map(([kind, counts, place, others]) => {
    const [name, title] = data.kinds[kind];
    const bar = make("i");
    bar.style.width = `${(100 * sum(counts)) / most}%`;
    const meter = make("button", { type: "button", class: "meter", onclick: () => listed({ kind: name }) }, make("span", {}, title), make("span", { class: "rail" }, bar), make("b", {}, whole.format(sum(counts))));
    return make("div", { class: "failure" }, make("div", {}, about(meter, Object.entries(counts).map(([benchmark, count]) => `${benchmark}: ${counted(count, "case")}`).join(", ")), below(others)), example(place));
  });
  if (UNSORTED) for (const element of document.querySelectorAll("#faults, nav a[href='#faults']")) element.remove();
  else byId("fault-bars").append(...rows.slice(0, SHOWN), rows.length > SHOWN ? make("details", {}, make("summary", {}, `${rows.length - SHOWN} less frequent`), ...rows.slice(SHOWN)) : "");
}

// The other kinds of cases whose reply was cut: each lists its cases.
function below(others) {
  const parts = Object.entries(others).map(([kind, count]) => make("button", { type: "button", title: data.kinds[kind][1], onclick: () => listed({ kind: data.kinds[kind][0] }) }, `${data.kinds[kind].at(-1)} ${whole.format(count)}`));
  return parts.length ? make("div", { class: "below" }, make("span", { class: "quiet" }, "of these"), ...parts) : "";
}

function example(place) {
  const side = (name, label) => (textOf(name)(place) ? make("div", {}, make("small", {}, label), plain(textOf(name)(place))) : "");
  const answers = textOf("expected")(place) ? [side("expected", "expected"), side("got", "got")] : [side("why", STATUSES[cases.status[place]] === "broken" ? "fault" : "verdict")];
  const question = textOf("question")(place);
  return make("div", { class: "example" }, make("p", {}, plain(question, "asked"), question ? " " : "", caseLink(place, true)), make("div", { class: "sides" }, ...answers));
}

function overview() {
  if (part("capabilities", data.boards.length && data.capabilities.length ? counted(data.capabilities.length, "row") : "")) capabilities();
  failures();
  part("statuses", counted(data.tasks.length, "task"));
  const heat = data.tasks.map((task) => ({ cells: [about(make("span", {}, limited(task.name, task.limit)), task.title), ...STATUSES.map((status) => {
    const button = make("button", { type: "button", class: `is-${status}`, "aria-label": `${task.name}: ${task[status]} ${status}`, disabled: !task[status], onclick: () => listed({ task: task.name, status }) }, String(task[status]));
    button.style.setProperty("--share", (100 * task[status]) / (task.planned || 1));
    return button;
  })] }));
  byId("heat").append(table([{ name: "task" }, ...STATUSES.map((name) => ({ name, num: true, kind: "cell" }))], heat, { kind: "heat full", sortable: false }));
  if (part("tools", data.tools.length ? `${counted(sum(data.tools.map(([, calls]) => calls)), "call")} of ${counted(data.tools.length, "tool")}` : "")) toolCalls();
}

function toolCalls() {
  byId("tool-table").append(table([{ name: "tool" }, { name: "calls", num: true }, { name: "errors", num: true }, { name: "share of errors", num: true }, { name: "median time", num: true }, { name: "99th percentile", num: true }],
    data.tools.map(([name, calls, errors]) => {
      const [, median, , slow] = times.latency.tool[name] || [];
      return { keys: [name, calls, errors, errors / calls, median, slow], cells: [put(make("span"), name), whole.format(calls), whole.format(errors), `${((100 * errors) / calls).toFixed(0)} %`, seconds(median), seconds(slow)] };
    }), { kind: "full" }));
}

function largest(values, count) { // places, without sorting all of them
  const found = [];
  values.forEach((value, place) => {
    if (found.length === count && value <= values[found[count - 1]]) return;
    const at = found.findIndex((other) => values[other] < value);
    found.splice(at < 0 ? found.length : at, 0, place);
    found.length = Math.min(found.length, count);
  });
  return found;
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

function cost() {
  const columns = ["cases", "median", "90th percentile", "99th percentile", "longest"].map((name) => ({ name, num: true }));
  const latency = (found) => Object.entries(found).map(([name, numbers]) => ({ keys: [name, ...numbers], cells: [name, whole.format(numbers[0]), ...numbers.slice(1).map(seconds)] }));
  const add = (title, content) => byId("cost-parts").append(make("div", {}, make("h3", {}, title), content));
  const without = times.cached ? `, without ${times.cached === 1 ? "1 case" : `${whole.format(times.cached)} cases`} with answers from --cache` : "";
  add(`Seconds per case (${TIME}), by task${without}`, table([{ name: "task" }, ...columns], latency(times.latency.case), { kind: "full" }));
  const priced = cases.usd.some(Boolean) || Boolean(cases.saved);
  const spent = data.tasks.map(() => ({ cases: 0, tokens: 0, usd: 0, saved: 0, passed: 0 }));
  cases.task.forEach((task, place) => { spent[task].cases += 1; spent[task].tokens += cases.tokens[place]; spent[task].usd += cases.usd[place]; spent[task].saved += cases.saved ? cases.saved[place] : 0; spent[task].passed += cases.status[place] === 0; });
  const usage = data.tasks.map(({ name }, number) => {
    const { cases: count, tokens, usd, saved, passed } = spent[number];
    const each = passed ? (usd + saved) / passed : Infinity; // cached requests at what they cost when they were sent
    return { keys: [name, tokens, tokens / (count || 1), usd, each], cells: [name, whole.format(tokens), whole.format(Math.round(tokens / (count || 1))), ...(priced ? [dollars(usd), passed ? dollars(each) : "–"] : [])] };
  });
  add(priced ? "Tokens and cost, by task" : "Tokens, by task", table([{ name: "task" }, { name: "tokens", num: true }, { name: "tokens per case", num: true }, ...(priced ? [{ name: "cost", num: true }, { name: "cost per passed case", num: true }] : [])], usage, { kind: "full" }));
  const top = (values, shown) => table([{ name: "case" }, { name: "status" }, { name: shown === seconds ? TIME : "tokens", num: true }],
    largest(values, 10).map((place) => ({ cells: [caseLink(place, true), statusMark(place), shown === seconds ? seconds(values[place]) : `${whole.format(cases.tokens[place])}${cases.usd[place] ? ` · ${dollars(cases.usd[place])}` : ""}`] })), { sortable: false, kind: "full" });
  byId("cost").querySelector(".gist").textContent = [span(times.total), priced ? dollars(data.usage.usd) : ""].filter(Boolean).join(", ");
  add("Slowest cases", top(times.seconds, seconds));
  add(priced ? "Most expensive cases" : "Cases with the most tokens", top(priced ? cases.usd : cases.tokens, whole));
  add("Seconds per request, by model", table([{ name: "model" }, ...columns.map((column) => (column.name === "cases" ? { ...column, name: "requests" } : column))], latency(times.latency.model), { kind: "full" }));
}
// Results beside the published rows, and the breakdowns that tasks make of their own figures.

function boards() {
  const figures = data.boards.flatMap((board) => board.editions.flatMap((edition) => edition.ours));
  part("results", data.boards.length ? `${counted(figures.length, "figure")} of ${counted(data.boards.length, "benchmark")}` : "");
  if (PUBLISHED) byId("results")?.querySelector("h2").append(" beside the published rows");
  else if (figures.length > 1) reveal(byId("results")); // nowhere else on the page are these figures
  for (const board of data.boards) {
    const place = make("div");
    const tabs = make("div", { class: "tabs", role: "group", "aria-label": `Published tables of ${board.benchmark}` });
    const show = (edition, button) => {
      [...tabs.children].forEach((tab) => tab.setAttribute("aria-pressed", String(tab === button)));
      place.replaceChildren(boardTable(board, edition));
    };
    for (const edition of board.editions) if (edition.title) tabs.append(make("button", { type: "button", onclick: (event) => show(edition, event.currentTarget) }, edition.title));
    const first = board.editions.find((edition) => edition.ours.some((one) => one.value !== "–")) || board.editions[0];
    const listed = data.tasks.filter((task) => task.benchmark === board.benchmark);
    const count = (status) => listed.reduce((sum, task) => sum + task[status], 0);
    byId("boards").append(make("h3", {}, board.benchmark),
      make("p", { class: "quiet" }, `${whole.format(count("planned"))} cases in ${listed.length} ${listed.length === 1 ? "task" : "tasks"}; ${count("broken")} broken, ${count("missing")} missing.`), tabs, place);
    show(first, tabs.children[board.editions.indexOf(first)]);
    if (board.reasons.length) byId("boards").append(make("details", { class: "quiet why-apart" }, put(make("summary"), `Not comparable with these rows, for ${counted(board.reasons.length, "reason")}: ${board.reasons.map(([, reason]) => reason).join("; ")}`),
      make("ul", { class: "reasons" }, ...board.reasons.map(([tasks, reason]) => make("li", {}, put(make("span"), reason), make("span", { class: "quiet" }, ` (${tasks})`))))));
    if (board.made.length) byId("boards").append(make("details", {}, make("summary", {}, "Combined from several tasks"),
      table([{ name: "part" }, { name: "name" }, { name: "value", num: true }], board.made.map((cells) => ({ cells })), { sortable: false })));
    if (board.notes.length) byId("boards").append(make("ul", { class: "reasons quiet" }, ...board.notes.map((note) => put(make("li"), note))));
  }
}

function boardTable(board, edition) {
  const figure = (text) => (text === "–" ? NaN : Number(text));
  const apart = board.reasons.length > 0;
  const ours = { class: apart ? "ours apart" : "ours", apart, keys: [`${data.model} `, ...edition.ours.map((one) => figure(one.value))],
    cells: [put(make("span"), `${data.model} (this run${board.limit ? `, ${board.limit}` : ""}${apart ? ", not comparable" : ""})`), ...edition.ours.map((one, place) => make("span", {}, about(make("span", {}, one.value), one.n === null ? "" : `${edition.help[place]}; ${counted(one.n, "sample")}, ${counted(one.broken, "broken case")}${one.clean ? `; ${one.clean} without the broken ones` : ""}`),
      make("small", {}, one.interval), one.n === null ? "" : make("small", {}, `n ${one.n}`), one.clean ? make("small", {}, `clean ${one.clean}`) : ""))] };
  const signed = (text, marks) => (marks ? about(make("span", {}, text, make("sup", {}, marks)), notesAt(edition, marks)) : text);
  const rows = edition.rows.map((row) => ({ cells: [signed(row.model, row.marks.model), ...row.cells.map((cell, place) => signed(cell, row.marks[edition.columns[place]]))], keys: [row.model, ...row.cells.map(figure)] }));
  const columns = [{ name: "model" }, ...edition.columns.map((name, place) => ({ name: `${name}${edition.marks[name] || ""}`, num: true, help: notesAt(edition, edition.marks[name]) || edition.help[place] }))];
  const caption = [rows.length && `${counted(rows.length, "published row")}: ${edition.title}`, edition.source, edition.source.includes(edition.date) ? "" : edition.date].filter(Boolean).join(", ");
  return make("div", {}, table(columns, [ours, ...rows], { kind: "board", sorted: edition.columns.length ? [edition.headline + 1, true] : null, wrap: "tall" }),
    edition.footnotes.length ? make("ul", { class: "footnotes quiet" }, ...edition.footnotes.map(([sign, text]) => make("li", {}, sign ? make("b", {}, `${sign} `) : "", text))) : "",
    make("p", { class: "quiet" }, `${caption && `${caption}. `}Small figures: 95 % interval, and the samples that a figure rests on.`));
}

// The footnotes whose signs stand at a figure.
function notesAt(edition, marks = "") {
  return edition.footnotes.filter(([sign]) => sign && marks.includes(sign)).map(([, text]) => text).join(" ");
}

function breakdowns() {
  const filled = data.breakdowns.filter(({ rows }) => rows.some(({ values }) => Object.values(values).some((value) => value !== null)));
  part("breakdowns", filled.length ? counted(filled.length, "table") : "");
  for (const one of filled) {
    const columns = [{ name: one.what }, ...one.columns.map((name) => ({ name, num: true, kind: one.heat ? "shaded" : "" }))];
    const rows = one.rows.map((row) => ({ cells: [put(make("span"), row.row), ...one.columns.map((name) => breakdownCell(one, name, row))] }));
    byId("breakdown-tables").append(make("div", {}, make("h3", {}, limited(`${one.benchmark}: ${one.table}`, one.rows.length ? one.rows[0].limit : "")), put(make("p", { class: "quiet" }), one.note),
      table(columns, rows, { kind: "figures", sortable: false }), one.heat ? make("p", { class: "legend", "aria-hidden": "true" }, ...[0, 25, 50, 75, 100].map((share) => shade(share, `${share} %`))) : ""));
  }
}

function breakdownCell(one, name, row) {
  const [value, n] = [row.values[name], row.n[name]];
  if (value === null) return "–";
  if (one.counts.includes(name)) return whole.format(value);
  const cell = one.heat ? shade(value, value.toFixed(1)) : make("span", {}, value.toFixed(1));
  if (!one.counts.length) cell.append(make("small", {}, `n ${whole.format(n)}`)); // else the counts say it
  return cell;
}

function shade(share, text) {
  const element = make("span", { class: "shade" }, text);
  element.style.setProperty("--share", share);
  return element;
}
// Reliability over attempts: pass@k and pass^k against k, with their intervals, for each task that was tried several times.

const SVG = "http://www.w3.org/2000/svg";
function draw(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const KINDS = [["pass@k", "any"], ["pass^k", "all"]];

function curves() {
  const tried = data.tasks.filter((task) => task.pass);
  part("reliability", tried.length ? counted(tried.length, "task") : "");
  for (const task of tried) {
    const most = Object.keys(task.pass["pass@k"]).length;
    const rows = Array.from({ length: most }, (_, number) => [String(number + 1), ...KINDS.map(([kind]) => rateText(task.pass[kind][number + 1]))]);
    byId("curves").append(make("div", {}, make("h3", {}, task.name), curve(task, most),
      make("details", {}, make("summary", {}, `Figures of ${task.name}`), table([{ name: "k" }, ...KINDS.map(([name]) => ({ name, num: true }))], rows.map((cells) => ({ cells })), { sortable: false }))));
  }
}

const rateText = ({ value, low, high }) => (value === null ? "–" : `${value.toFixed(1)}${low === null ? "" : ` (${low.toFixed(1)} to ${high.toFixed(1)})`}`);

function curve(task, most) {
  const [width, height, left, top, right, bottom] = [380, 220, 40, 14, 62, 34];
  const x = (k) => left + ((k - 1) * (width - left - right)) / Math.max(1, most - 1);
  const y = (value) => top + ((100 - value) * (height - top - bottom)) / 100;
  const parts = [0, 25, 50, 75, 100].flatMap((value) => [draw("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }), draw("text", { class: "scale", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, `${value} %`)]);
  const ticks = Array.from({ length: most }, (_, number) => number + 1).filter((k) => most <= 8 || k === 1 || k === most || k % Math.ceil(most / 6) === 0);
  parts.push(...ticks.map((k) => draw("text", { class: "scale", x: x(k), y: height - bottom + 16, "text-anchor": "middle" }, String(k))), draw("text", { class: "scale", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, "k attempts"));
  const ends = [];
  for (const [kind, style] of KINDS) {
    const points = Object.entries(task.pass[kind]).map(([k, one]) => ({ k: Number(k), ...one })).filter((one) => one.value !== null);
    const known = points.filter((one) => one.low !== null);
    parts.push(draw("polygon", { class: `band ${style}`, points: [...known.map((one) => [x(one.k), y(one.high)]), ...known.reverse().map((one) => [x(one.k), y(one.low)])].join(" ") }),
      draw("polyline", { class: `line ${style}`, points: points.map((one) => [x(one.k), y(one.value)]).join(" ") }), ...points.map((one) => draw("circle", { class: `point ${style}`, cx: x(one.k), cy: y(one.value), r: 3 }, draw("title", {}, `${kind} of ${one.k}: ${rateText(one)}`))));
    if (points.length) ends.push({ kind, style, at: y(points.at(-1).value) });
  }
  if (ends.length === 2 && Math.abs(ends[0].at - ends[1].at) < 14) { const middle = (ends[0].at + ends[1].at) / 2; ends[0].at = middle - 7; ends[1].at = middle + 7; }
  parts.push(...ends.map(({ kind, style, at }) => draw("text", { class: `name ${style}`, x: width - right + 8, y: at + 4 }, kind)));
  const label = KINDS.map(([kind]) => `${kind} ${Object.entries(task.pass[kind]).map(([k, one]) => `${k}: ${rateText(one)}`).join(", ")}`).join("; ");
  return draw("svg", { class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${task.name}, in percent over k: ${label}` }, ...parts);
}
