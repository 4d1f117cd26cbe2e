"use strict";
// Everything that a model, a tool or a judge wrote comes in as JSON and goes into the page as text, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const times = JSON.parse(document.getElementById("times").textContent);
  const cases = data.cases;
  const STATUSES = ["passed", "wrong", "broken", "missing"];
  const PAGE = 50;
  const LONG = 4000; // characters of a text that are shown at once
  const byId = (id) => document.getElementById(id);
  const whole = new Intl.NumberFormat("en");

  // -- elements

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
  function put(element, text) {
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

  function textBlock(text, kind) {
    const element = make("div", { class: `text ${kind || ""}`, dir: "auto" });
    if (text.length <= LONG) return put(element, text);
    put(element, `${text.slice(0, LONG)}…`);
    const button = make("button", { type: "button", onclick: () => { element.replaceChildren(); put(element, text); button.remove(); } });
    button.textContent = `Show all ${whole.format(text.length)} characters`;
    return make("div", {}, element, button);
  }

  const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1) ?? "");
  const seconds = (value) => (value === undefined || value === null ? "" : value >= 100 ? `${value.toFixed(0)} s` : value >= 1 ? `${value.toFixed(1)} s` : `${Math.round(value * 1000)} ms`);
  const dollars = (value) => (value ? `$${value.toFixed(value < 0.1 ? 4 : 2)}` : "–");

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
      const cell = make("th", { class: column.num ? "num" : "", scope: "col", title: column.help || "" });
      if (sortable) cell.append(make("button", { type: "button", onclick: () => order(place, cell.getAttribute("aria-sort") === "descending" ? false : column.num || cell.getAttribute("aria-sort") === "ascending") }, column.name));
      else cell.append(column.name);
      head.append(cell);
    });
    if (sorted) order(...sorted); else fill();
    return make("div", { class: `wide ${wrap}` }, make("table", { class: kind }, make("thead", {}, head), body));
  }

  // Empty values come last in both directions.
  const texts = new Intl.Collator("en", { numeric: true }); // much faster than localeCompare, which counts among many cases
  function compare(one, other, down) {
    const [a, b] = [one, other].map((value) => (value === null || value === undefined || Number.isNaN(value)));
    if (a || b) return a - b;
    const found = typeof one === "number" ? one - other : texts.compare(String(one), String(other));
    return down ? -found : found;
  }

  // -- overview

  function header() {
    put(byId("model"), data.model);
    const date = times.started ? new Date(times.started * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "";
    put(byId("facts"), [...data.facts.map(([name, value]) => `${name} ${value}`), times.name, date].filter(Boolean).join(" · "));
    const sums = STATUSES.map((status) => data.tasks.reduce((sum, task) => sum + task[status], 0));
    const all = sums.reduce((sum, count) => sum + count, 0);
    const total = (value, name, kind) => make("div", { class: "total" }, make("b", {}, value), make("span", {}, kind ? make("i", { class: `dot is-${kind}` }) : "", name));
    const shares = make("div", { class: "share", role: "img", "aria-label": STATUSES.map((status, place) => `${sums[place]} ${status}`).join(", ") });
    sums.forEach((count, place) => { const part = make("i", { class: `is-${STATUSES[place]}` }); part.style.width = `${(100 * count) / (all || 1)}%`; shares.append(part); });
    if (data.alarm) byId("totals").before(make("p", { class: "alarm", role: "alert" }, data.alarm));
    byId("totals").append(total(whole.format(all), "cases"), ...sums.map((count, place) => total(whole.format(count), STATUSES[place], STATUSES[place])),
      total(whole.format(data.usage.prompt_tokens + data.usage.completion_tokens), "tokens"), data.usage.usd ? total(dollars(data.usage.usd), "cost") : "", total(seconds(times.total), "in cases"), shares);
    byId("foot").append("One file, no network: it opens from a disk. Transcripts ", data.embedded ? "are inside it." : make("span", {}, "lie beside it in the folder ", make("code", {}, times.beside), "; keep both together."), times.unseen ? ` ${times.unseen}` : "");
  }

  function boards() {
    for (const board of data.boards) {
      const place = make("div");
      const fullness = (edition) => edition.rows.reduce((sum, row) => sum + row.cells.filter((cell) => cell !== "–").length, 0);
      const tabs = make("div", { class: "tabs", role: "group", "aria-label": `Editions of ${board.benchmark}` });
      const show = (edition, button) => {
        [...tabs.children].forEach((tab) => tab.setAttribute("aria-pressed", String(tab === button)));
        place.replaceChildren(boardTable(board, edition));
      };
      const editions = board.editions.length ? board.editions : [{ title: "", source: "", date: "", rows: [] }];
      for (const edition of editions) if (edition.title) tabs.append(make("button", { type: "button", onclick: (event) => show(edition, event.currentTarget) }, edition.title));
      const first = editions.reduce((best, edition) => (fullness(edition) > fullness(best) ? edition : best));
      const listed = data.tasks.filter((task) => task.benchmark === board.benchmark);
      const count = (status) => listed.reduce((sum, task) => sum + task[status], 0);
      byId("boards").append(make("h3", {}, board.benchmark),
        make("p", { class: "quiet" }, `${whole.format(count("planned"))} cases in ${listed.length} ${listed.length === 1 ? "task" : "tasks"}; ${count("broken")} broken, ${count("missing")} missing.`), tabs, place);
      show(first, tabs.children[editions.indexOf(first)]);
      if (board.reasons.length) byId("boards").append(make("details", { open: true, class: "quiet" }, make("summary", {}, `Why our row may not stand beside these: ${board.reasons.length} ${board.reasons.length === 1 ? "reason" : "reasons"}`),
        make("ul", { class: "reasons" }, ...board.reasons.map(([tasks, reason]) => make("li", {}, put(make("span"), reason), make("span", { class: "quiet" }, ` (${tasks})`))))));
      if (board.made.length) byId("boards").append(make("details", {}, make("summary", {}, "Made of several tasks"),
        table([{ name: "part" }, { name: "name" }, { name: "value", num: true }], board.made.map((cells) => ({ cells })), { sortable: false })));
      if (board.notes.length) byId("boards").append(make("ul", { class: "reasons quiet" }, ...board.notes.map((note) => put(make("li"), note))));
    }
  }

  function boardTable(board, edition) {
    const figure = (text) => (text === "–" ? NaN : Number(text));
    const apart = board.reasons.length > 0;
    const ours = { class: apart ? "ours apart" : "ours", apart, keys: [`${data.model} `, ...board.ours.map((one) => figure(one.value))],
      cells: [put(make("span"), `${data.model} (this run${apart ? ", not comparable" : ""})`), ...board.ours.map((one) => make("span", { title: `${one.n} samples, ${one.broken} broken cases${one.clean ? `; ${one.clean} without the broken ones` : ""}` },
        one.value, make("small", {}, one.interval), make("small", {}, `n ${one.n}`), one.clean ? make("small", {}, `clean ${one.clean}`) : ""))] };
    const rows = edition.rows.map((row) => ({ cells: [row.model, ...row.cells], keys: [row.model, ...row.cells.map(figure)] }));
    const columns = [{ name: "model" }, ...board.columns.map((name, place) => ({ name, num: true, help: board.help[place] }))];
    const told = [edition.title && `Published: ${edition.title}`, edition.source, edition.date].filter(Boolean).join(", ");
    return make("div", {}, table(columns, [ours, ...rows], { kind: "board", sorted: board.columns.length ? [board.headline + 1, true] : null, wrap: "tall" }),
      make("p", { class: "quiet" }, `${told ? `${told}. ` : "Nothing is published. "}Small figures: 95 % interval, and the samples that a figure rests on.`));
  }

  // -- breakdowns: tables that a task makes of its own figures

  function breakdowns() {
    if (!data.breakdowns.length) for (const element of document.querySelectorAll("#breakdowns, nav a[href='#breakdowns']")) element.remove();
    for (const one of data.breakdowns) {
      const columns = [{ name: one.what }, ...one.columns.map((name) => ({ name, num: true, kind: one.heat ? "shaded" : "" }))];
      const rows = one.rows.map((row) => ({ cells: [put(make("span"), row.row), ...one.columns.map((name) => breakdownCell(one, name, row))] }));
      byId("breakdown-tables").append(make("div", {}, make("h3", {}, `${one.benchmark}: ${one.table}`), put(make("p", { class: "quiet" }), one.note),
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

  function overview() {
    const share = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));
    byId("capability-table").append(table([{ name: "capability" }, { name: "value", num: true }, { name: "95 %", num: true }, { name: "cases", num: true }, { name: "made of" }],
      data.capabilities.map((one) => ({ cells: [one.name, share(one.value), one.low === null ? "" : `${share(one.low)}–${share(one.high)}`, String(one.n), (one.made_of || []).join(", ")] })), { sortable: false }));
    const heat = data.tasks.map((task) => ({ cells: [make("span", { title: task.title }, task.name), ...STATUSES.map((status) => {
      const button = make("button", { type: "button", class: `is-${status}`, title: `${task.name}: ${task[status]} ${status}`, disabled: !task[status], onclick: () => list({ task: task.name, status }) }, String(task[status]));
      button.style.setProperty("--share", (100 * task[status]) / (task.planned || 1));
      return button;
    })] }));
    byId("heat").append(table([{ name: "task" }, ...STATUSES.map((name) => ({ name, num: true, kind: "cell" }))], heat, { kind: "heat full", sortable: false }));
    const most = Math.max(1, ...data.faults.map(([, counts]) => sum(counts)));
    for (const [kind, counts] of data.faults) {
      const [name, title] = data.kinds[kind];
      const bar = make("i");
      bar.style.width = `${(100 * sum(counts)) / most}%`;
      byId("fault-bars").append(make("button", { type: "button", class: "meter", title: Object.entries(counts).map(([benchmark, count]) => `${benchmark}: ${count}`).join(", "), onclick: () => list({ kind: name }) },
        make("span", {}, title), make("span", { class: "rail" }, bar), make("b", {}, whole.format(sum(counts)))));
    }
    if (!data.faults.length) byId("fault-bars").append(make("p", {}, "No case is wrong or broken."));
    byId("tool-table").append(data.tools.length ? table([{ name: "tool" }, { name: "calls", num: true }, { name: "errors", num: true }, { name: "share", num: true }, { name: "median", num: true }, { name: "99 %", num: true }],
      data.tools.map(([name, calls, errors]) => {
        const [, median, , slow] = times.latency.tool[name] || [];
        return { keys: [name, calls, errors, errors / calls, median, slow], cells: [put(make("span"), name), whole.format(calls), whole.format(errors), `${((100 * errors) / calls).toFixed(0)} %`, seconds(median), seconds(slow)] };
      }), { kind: "full" }) : make("p", { class: "quiet" }, "No real tool ran."));
  }

  const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0);

  function cost() {
    const columns = ["cases", "median", "90 %", "99 %", "largest"].map((name) => ({ name, num: true }));
    const latency = (found) => Object.entries(found).map(([name, numbers]) => ({ keys: [name, ...numbers], cells: [name, whole.format(numbers[0]), ...numbers.slice(1).map(seconds)] }));
    const part = (title, content) => byId("cost-parts").append(make("div", {}, make("h3", {}, title), content));
    part("Seconds per case, by task", table([{ name: "task" }, ...columns], latency(times.latency.case), { kind: "full" }));
    const usage = data.tasks.map((task, number) => {
      const own = cases.task.map((one, place) => (one === number ? place : -1)).filter((place) => place >= 0);
      const tokens = own.reduce((total, place) => total + cases.tokens[place], 0);
      const usd = own.reduce((total, place) => total + cases.usd[place], 0);
      return { keys: [task.name, tokens, tokens / (own.length || 1), usd], cells: [task.name, whole.format(tokens), whole.format(Math.round(tokens / (own.length || 1))), dollars(usd)] };
    });
    part("Tokens and cost, by task", table([{ name: "task" }, { name: "tokens", num: true }, { name: "per case", num: true }, { name: "cost", num: true }], usage, { kind: "full" }));
    const top = (values, shown) => table([{ name: "case" }, { name: "status" }, { name: shown === seconds ? "time" : "tokens", num: true }],
      [...values.keys()].sort((a, b) => values[b] - values[a] || a - b).slice(0, 10).map((place) => ({ cells: [caseLink(place, true), statusMark(place), shown === seconds ? seconds(values[place]) : `${whole.format(cases.tokens[place])}${cases.usd[place] ? ` · ${dollars(cases.usd[place])}` : ""}`] })), { sortable: false, kind: "full" });
    part("Slowest cases", top(times.seconds, seconds));
    part("Most expensive cases", top(cases.usd.some(Boolean) ? cases.usd : cases.tokens, whole));
    part("Seconds per request, by model", table([{ name: "model" }, ...columns.map((column) => (column.name === "cases" ? { ...column, name: "requests" } : column))], latency(times.latency.model), { kind: "full" }));
  }

  // -- the table of cases

  const taskName = (place) => data.tasks[cases.task[place]].name;
  const caseHash = (place) => `#case=${[taskName(place), cases.sample[place], cases.attempt[place]].map((part) => encodeURIComponent(part)).join("/")}`;
  const caseLink = (place, long) => put(make("a", { href: caseHash(place), title: cases.sample[place] }), (long ? `${taskName(place)} ` : "") + cases.sample[place] + (cases.attempt[place] > 1 ? ` (attempt ${cases.attempt[place]})` : ""));
  const statusMark = (place) => make("span", {}, make("i", { class: `dot is-${STATUSES[cases.status[place]]}` }), STATUSES[cases.status[place]]);
  let hay = null; // what a search looks in, made at the first one
  const searched = () => (hay ??= cases.sample.map((sample, place) => [taskName(place), sample, cases.why[place], ...cases.tags[place].map((tag) => data.tags[tag])].join(" ").toLowerCase()));
  const COLUMNS = [
    { name: "task", key: taskName, cell: taskName },
    { name: "sample", key: (place) => cases.sample[place], cell: (place) => caseLink(place), kind: "sample" },
    { name: "status", key: (place) => cases.status[place], cell: statusMark },
    { name: "reason", key: (place) => data.kinds[cases.kind[place]][1], cell: (place) => data.kinds[cases.kind[place]][1] },
    { name: "calls", num: true, key: (place) => cases.calls[place], cell: (place) => String(cases.calls[place]) },
    { name: "tool errors", num: true, key: (place) => cases.errors[place], cell: (place) => String(cases.errors[place]) },
    { name: "tokens", num: true, key: (place) => cases.tokens[place], cell: (place) => whole.format(cases.tokens[place]) },
    { name: "cost", num: true, key: (place) => cases.usd[place], cell: (place) => dollars(cases.usd[place]) },
    { name: "time", num: true, key: (place) => times.seconds[place], cell: (place) => seconds(times.seconds[place]) },
    { name: "said of it", key: (place) => cases.why[place], cell: (place) => put(make("span"), cases.why[place]), kind: "why" },
  ].filter((column) => column.name !== "cost" || cases.usd.some(Boolean));
  const view = { shown: [...cases.sample.keys()], page: 0, column: null, down: false };

  function filter() {
    const words = byId("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [task, status, kind] = ["task", "status", "kind"].map((id) => byId(id).value);
    view.shown = [...cases.sample.keys()].filter((place) => (!task || taskName(place) === task) && (!status || STATUSES[cases.status[place]] === status)
      && (!kind || data.kinds[cases.kind[place]][0] === kind) && words.every((word) => searched()[place].includes(word)));
    if (view.column) {
      const keys = cases.sample.map((_, place) => view.column.key(place));
      view.shown.sort((one, other) => compare(keys[one], keys[other], view.down) || one - other);
    }
    view.page = 0;
    caseTable();
  }

  function caseTable() {
    const pages = Math.max(1, Math.ceil(view.shown.length / PAGE));
    const head = COLUMNS.map((column) => {
      const cell = make("th", { class: column.num ? "num" : "", scope: "col", "aria-sort": view.column === column ? (view.down ? "descending" : "ascending") : "none" });
      cell.append(make("button", { type: "button", onclick: () => { view.down = view.column === column ? !view.down : Boolean(column.num); view.column = column; filter(); byId("case-table").querySelectorAll("th button")[COLUMNS.indexOf(column)].focus(); } }, column.name));
      return cell;
    });
    const rows = view.shown.slice(view.page * PAGE, (view.page + 1) * PAGE).map((place) => make("tr", {}, ...COLUMNS.map((column) => make("td", { class: `${column.num ? "num" : ""} ${column.kind || ""}` }, column.cell(place)))));
    byId("case-table").replaceChildren(make("table", { class: "cases full" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
    byId("found").textContent = `${whole.format(view.shown.length)} of ${whole.format(cases.sample.length)} cases`;
    const turn = (name, step) => make("button", { type: "button", disabled: view.page + step < 0 || view.page + step >= pages, onclick: () => { view.page += step; caseTable(); byId("cases").scrollIntoView(); } }, name);
    byId("pager").replaceChildren(turn("← Before", -1), `page ${view.page + 1} of ${pages}`, turn("After →", 1));
  }

  function list(wanted) {
    byId("words").value = "";
    for (const id of ["task", "status", "kind"]) byId(id).value = wanted[id] || "";
    filter();
    byId("cases").scrollIntoView();
    byId("case-table").focus({ preventScroll: true });
  }

  function filters() {
    const used = new Set(cases.kind);
    const fill = (id, options) => byId(id).append(make("option", { value: "" }, "all"), ...options.map(([value, name]) => make("option", { value }, name)));
    fill("task", data.tasks.map((task) => [task.name, task.name]));
    fill("status", STATUSES.map((status) => [status, status]));
    fill("kind", data.kinds.filter(([name], number) => name && used.has(number)));
    byId("filters").addEventListener("input", filter);
    byId("filters").addEventListener("reset", () => setTimeout(filter));
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
  }

  // -- transcripts, loaded when one is opened

  const waiting = new Map();
  const loaded = new Map();
  window.agentgaugeChunk = (number, text) => waiting.get(number)?.(text);

  function load(number) {
    if (!loaded.has(number)) loaded.set(number, fetched(number).then(unpack).catch((error) => { loaded.delete(number); throw error; }));
    return loaded.get(number);
  }

  function fetched(number) {
    const inside = byId(`chunk-${number}`);
    if (inside) return Promise.resolve(inside.textContent);
    return new Promise((resolve, reject) => {
      waiting.set(number, resolve);
      const script = make("script", { src: `${times.beside}/${number}.js` });
      script.addEventListener("error", () => reject(new Error(`The file ${times.beside}/${number}.js is not there; keep this page and that folder together.`)));
      script.addEventListener("load", () => { script.remove(); reject(new Error(`The file ${times.beside}/${number}.js holds no transcripts.`)); });
      document.head.append(script);
    });
  }

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
  }

  let current = -1;
  async function open(place) {
    current = place;
    const body = byId("case-body");
    byId("case-title").replaceChildren();
    put(byId("case-title"), `${taskName(place)} · ${cases.sample[place]}${cases.attempt[place] > 1 ? ` · attempt ${cases.attempt[place]}` : ""}`);
    body.replaceChildren(make("p", { class: "quiet" }, "Loading …"));
    if (!byId("case").open) byId("case").showModal();
    const at = view.shown.indexOf(place);
    byId("previous").disabled = at <= 0;
    byId("next").disabled = at < 0 || at + 1 >= view.shown.length;
    body.focus();
    try {
      const chunk = await load(cases.chunk[place]);
      if (current !== place) return;
      const { said, seconds: took } = chunk[place - cases.chunk.indexOf(cases.chunk[place])];
      body.replaceChildren(...story(place, said, took));
      body.scrollTop = 0;
    } catch (error) {
      if (current === place) body.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
    }
  }

  function story(place, said, took) {
    const status = STATUSES[cases.status[place]];
    const files = said.files || {};
    const chips = make("div", { class: "chips" }, make("span", { class: `chip status is-${status}` }, status), ...cases.tags[place].map((tag) => put(make("span", { class: "chip" }), data.tags[tag])));
    const facts = said.unshown ? make("p", { class: "unshown" }, said.unshown) : said.usage ? make("p", { class: "quiet" }, `${said.usage[0]} requests · ${whole.format(said.usage[1])} + ${whole.format(said.usage[2])} tokens · ${dollars(said.usage[3])} · ${seconds(times.seconds[place])} · seed ${said.seed}`) : make("p", {}, "This case was not attempted.");
    const parts = [chips, facts];
    const judged = (said.artifacts || []).length; // its tree says what the verdict says
    if (said.verdict || said.error) parts.push(make("details", { open: !judged, class: `verdict is-${status}` }, make("summary", {}, said.error ? `Broken: ${said.cause || "unknown cause"}` : "Verdict"), textBlock(said.error || said.verdict, "mono")));
    for (const artifact of said.artifacts || []) parts.push(make("h3", {}, "Judged"), make("div", { class: "artifact" }, grown(artifact)));
    if (said.gold && said.gold.length) parts.push(make("h3", {}, "Expected beside what came"), goldTable(said.gold, files));
    if (said.delivered && said.delivered.length) parts.push(make("h3", {}, "Delivered"), ...said.delivered.map((path) => make("div", {}, put(make("code"), path))), pictures(said.delivered.join("\n"), files));
    if (said.steps && said.steps.length) parts.push(make("h3", {}, "Transcript"), ...said.steps.map((step) => stepBlock(step, took, files)));
    if (said.values && Object.keys(said.values).length) parts.push(make("details", {}, make("summary", {}, "What it contributes to the figures"), argumentTable(said.values)));
    return parts;
  }

  const TAGS = new Set(["div", "table", "caption", "thead", "tbody", "tr", "th", "td", "b", "i", "small", "p", "ul", "ol", "li", "h3", "h4", "pre", "code", "br"]);
  function grown([tag, children]) {
    const element = document.createElement(TAGS.has(tag) ? tag : "span");
    for (const child of children) if (typeof child === "string") put(element, child); else element.append(grown(child));
    return element;
  }

  const lasted = (took) => (Array.isArray(took) ? `cached: ${seconds(took[0])} instead of ${seconds(took[1])}` : seconds(took));

  function stepBlock(step, took, files) {
    const kind = step.error ? `${step.is} fault` : step.is;
    const name = step.role || step.is;
    const who = make("div", { class: "who" }, make("b", {}, step.is === "message" && step.role === "assistant" ? "assistant, given" : name), put(make("span"), step.name || ""), step.at === undefined ? "" : make("span", {}, lasted(took[step.at])));
    const block = make("div", { class: `step ${kind}` }, who);
    const shown = [];
    const text = (value, style) => { if (value) { shown.push(asText(value)); block.append(textBlock(asText(value), style)); } };
    if (step.is === "message") {
      text(typeof step.content === "string" ? step.content : step.content && step.content.map((part) => (part.type === "text" ? part.text : asText(part))).join("\n"));
      for (const call of step.tool_calls || []) block.append(callBlock(call.function || call));
    } else if (step.is === "model") {
      if (step.reasoning) block.append(make("details", {}, make("summary", {}, "reasoning"), textBlock(step.reasoning)));
      text(step.reply);
      text(step.refusal, "error");
      for (const call of step.calls || []) block.append(callBlock(call));
      if (!step.reply && !(step.calls || []).length && !step.error) block.append(make("p", { class: "quiet" }, "(an empty reply)"));
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
    const head = ["step", "expected", "came"].map((name) => make("th", { scope: "col" }, name));
    return make("table", { class: "gold" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows.map((row) => make("tr", {},
      make("td", { "data-label": "step" }, String(row.step)), side(row.expected, row.got, row.others ? `expected (or ${row.others} other ways)` : "expected"), side(row.got, row.expected, "came")))));
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

  // -- deep links and keys

  let placeOf = null; // of a case, by its link; made when the first is followed
  function follow() {
    if (!location.hash.startsWith("#case=")) { if (byId("case").open) byId("case").close(); return; }
    let hash = location.hash;
    try { hash = `#case=${hash.slice(6).split("/").map((part) => encodeURIComponent(decodeURIComponent(part))).join("/")}`; } catch { /* not written as a link is */ }
    placeOf ??= new Map(cases.sample.map((_, place) => [caseHash(place), place]));
    if (placeOf.has(hash)) open(placeOf.get(hash));
    else byId("found").textContent = "The case that the link names is not in this run.";
  }
  const move = (step) => { const place = view.shown[view.shown.indexOf(current) + step]; if (place !== undefined && view.shown.includes(current)) location.replace(caseHash(place)); };
  byId("previous").addEventListener("click", () => move(-1));
  byId("next").addEventListener("click", () => move(1));
  byId("close").addEventListener("click", () => byId("case").close());
  byId("case").addEventListener("close", () => { current = -1; if (location.hash.startsWith("#case=")) history.replaceState(null, "", location.pathname + location.search); });
  byId("case").addEventListener("keydown", (event) => {
    if (event.target.closest("video, audio") || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowLeft") move(-1);
    if (event.key === "ArrowRight") move(1);
  });
  window.addEventListener("hashchange", follow);

  header();
  boards();
  breakdowns();
  overview();
  cost();
  filters();
  filter();
  follow();
})();
