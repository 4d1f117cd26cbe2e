// Results beside the published rows, and the breakdowns that tasks make of their own figures.

function boards() {
  if (!data.boards.length) for (const element of document.querySelectorAll("#results, nav a[href='#results']")) element.remove();
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
  const ours = { class: apart ? "ours apart" : "ours", apart, keys: [`${data.model} `, ...board.ours.map((one) => figure(one.value))],
    cells: [put(make("span"), `${data.model} (this run${apart ? ", not comparable" : ""})`), ...board.ours.map((one) => make("span", { title: `${one.n} samples, ${one.broken} broken cases${one.clean ? `; ${one.clean} without the broken ones` : ""}` },
      one.value, make("small", {}, one.interval), make("small", {}, `n ${one.n}`), one.clean ? make("small", {}, `clean ${one.clean}`) : ""))] };
  const rows = edition.rows.map((row) => ({ cells: [row.model, ...row.cells], keys: [row.model, ...row.cells.map(figure)] }));
  const columns = [{ name: "model" }, ...board.columns.map((name, place) => ({ name, num: true, help: board.help[place] }))];
  const told = [edition.title && `${counted(rows.length, "published row")}: ${edition.title}`, edition.source, edition.date].filter(Boolean).join(", ");
  return make("div", {}, table(columns, [ours, ...rows], { kind: "board", sorted: board.columns.length ? [board.headline + 1, true] : null, wrap: "tall" }),
    make("p", { class: "quiet" }, `${told ? `${told}. ` : "Nothing is published. "}Small figures: 95 % interval, and the samples that a figure rests on.`));
}

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
