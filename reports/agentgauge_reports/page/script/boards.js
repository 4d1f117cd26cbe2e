// Results beside the published rows, and the breakdowns that tasks make of their own figures.

function boards() {
  if (!data.boards.length) for (const element of document.querySelectorAll("#results, nav a[href='#results']")) element.remove();
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
    cells: [put(make("span"), `${data.model} (this run${board.limit ? `, ${board.limit}` : ""}${apart ? ", not comparable" : ""})`), ...edition.ours.map((one) => make("span", { title: one.n === null ? "" : `${one.n} samples, ${one.broken} broken cases${one.clean ? `; ${one.clean} without the broken ones` : ""}` },
      one.value, make("small", {}, one.interval), one.n === null ? "" : make("small", {}, `n ${one.n}`), one.clean ? make("small", {}, `clean ${one.clean}`) : ""))] };
  const signed = (text, marks) => (marks ? make("span", { title: notesAt(edition, marks) }, text, make("sup", {}, marks)) : text);
  const rows = edition.rows.map((row) => ({ cells: [signed(row.model, row.marks.model), ...row.cells.map((cell, place) => signed(cell, row.marks[edition.columns[place]]))], keys: [row.model, ...row.cells.map(figure)] }));
  const columns = [{ name: "model" }, ...edition.columns.map((name, place) => ({ name: `${name}${edition.marks[name] || ""}`, num: true, help: notesAt(edition, edition.marks[name]) || edition.help[place] }))];
  const caption = [rows.length && `${counted(rows.length, "published row")}: ${edition.title}`, edition.source, edition.source.includes(edition.date) ? "" : edition.date].filter(Boolean).join(", ");
  return make("div", {}, table(columns, [ours, ...rows], { kind: "board", sorted: edition.columns.length ? [edition.headline + 1, true] : null, wrap: "tall" }),
    edition.footnotes.length ? make("ul", { class: "footnotes quiet" }, ...edition.footnotes.map(([sign, text]) => make("li", {}, sign ? make("b", {}, `${sign} `) : "", text))) : "",
    make("p", { class: "quiet" }, `${caption ? `${caption}. ` : "Nothing is published. "}Small figures: 95 % interval, and the samples that a figure rests on.`));
}

// The footnotes whose signs stand at a figure.
function notesAt(edition, marks = "") {
  return edition.footnotes.filter(([sign]) => sign && marks.includes(sign)).map(([, text]) => text).join(" ");
}

function breakdowns() {
  if (!data.breakdowns.length) for (const element of document.querySelectorAll("#breakdowns, nav a[href='#breakdowns']")) element.remove();
  for (const one of data.breakdowns) {
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
