"use strict";
// Whatever a model, a tool or a run folder says comes in as JSON and goes into the page as text, never as markup.
(() => {
  const STATUSES = ["passed", "wrong", "broken", "missing"];
  const main = document.getElementById("main");
  const whole = new Intl.NumberFormat("en");
  const chosen = new Set(); // names of runs that are to be compared
  const order = { by: "began", down: true };
  const words = make("input", { type: "search", id: "words", placeholder: "model, folder, state or figure", "data-key": "words" });
  words.addEventListener("input", () => { if (latest) list(latest); });
  let latest = null; // list of runs
  let events = null;

  function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name === "class") element.className = value;
      else if (name.includes("-") || name === "role") element.setAttribute(name, value);
      else element[name] = value;
    }
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  }

  const pathOf = (name) => `/run/${name.split("/").map(encodeURIComponent).join("/")}/report.html`;
  const liveOf = (name) => `#run=${encodeURIComponent(name)}`;
  const date = (seconds) => (seconds ? new Date(seconds * 1000).toLocaleString() : "");
  const figure = (value) => (value === null ? "incomplete" : value.toFixed(2));
  function duration(seconds) {
    const all = Math.round(seconds);
    if (all >= 3600) return `${Math.floor(all / 3600)} h ${Math.floor((all % 3600) / 60)} min`;
    return all >= 60 ? `${Math.floor(all / 60)} min ${all % 60} s` : `${all} s`;
  }

  function table(kind, title, heads, rows) { // a head that begins with # is of a column of numbers
    return make("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": title }, make("table", { class: kind },
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col", class: head.startsWith("#") ? "num" : "" }, head.replace("#", ""))))), make("tbody", {}, ...rows)));
  }

  function bar(counts, planned, kind) {
    const said = STATUSES.filter((status) => counts[status]).map((status) => `${counts[status]} ${status}`).join(", ");
    const element = make("div", { class: kind, role: "img", "aria-label": said || "no case has ended", title: said });
    for (const status of STATUSES) {
      if (!counts[status]) continue;
      const part = make("i", { class: `is-${status}` });
      part.style.width = `${(100 * counts[status]) / (planned || 1)}%`;
      element.append(part);
    }
    return element;
  }

  // -- the list

  function list(news) {
    const { root, runs } = latest = news;
    document.title = "Runs · AgentGauge";
    document.getElementById("title").textContent = "Runs";
    const running = runs.filter((run) => run.state === "running").length;
    document.getElementById("line").textContent = `${whole.format(runs.length)} ${runs.length === 1 ? "run" : "runs"} in ${root}${running ? `, ${running} running` : ""}`;
    for (const name of chosen) if (!runs.some((run) => run.name === name)) chosen.delete(name);
    const held = document.activeElement?.dataset.key; // the page is drawn anew, the focus stays
    main.replaceChildren(runs.length ? runsTable(runs) : make("section", {}, make("p", {}, "No run is here yet. A run appears as soon as it begins.")), overTime(runs));
    if (held) [...main.querySelectorAll("[data-key]")].find((one) => one.dataset.key === held)?.focus();
  }

  const took = (run) => (run.finished && run.started ? run.finished - run.started : null);
  const dollars = (value) => (value ? `$${value.toFixed(value < 0.1 ? 4 : 2)}` : "");
  const COLUMNS = { // name → what it sorts by; null or empty comes last
    run: (run) => run.name, model: (run) => run.model, state: (run) => run.state, began: (run) => run.started, took, cases: (run) => run.planned || null,
    tokens: (run) => run.tokens || null, cost: (run) => run.usd || null, "headline figures": (run) => run.figures[0]?.value ?? null,
  };
  function sorted(runs) {
    const key = COLUMNS[order.by];
    const compared = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    const empty = (value) => value === null || value === "";
    return [...runs].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      return empty(a) || empty(b) ? empty(a) - empty(b) : order.down ? compared(b, a) : compared(a, b);
    });
  }
  function found(runs) { // by all words
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (run) => [run.name, run.model, run.state, run.problem, ...run.figures.map((one) => `${one.benchmark} ${one.name}`)].join(" ").toLowerCase();
    return wanted.length ? runs.filter((run) => wanted.every((word) => text(run).includes(word))) : runs;
  }

  function runsTable(all) {
    const runs = sorted(found(all));
    const compare = make("button", { type: "button", disabled: chosen.size < 2, "data-key": "compare" }, "Compare the chosen runs");
    compare.addEventListener("click", () => {
      const oldest = all.map((run) => run.name).filter((name) => chosen.has(name)).reverse(); // the others are compared with the first
      location.assign(`/run/-/compare?${oldest.map((name) => `run=${encodeURIComponent(name)}`).join("&")}`);
    });
    const rows = runs.map((run) => {
      const box = make("input", { type: "checkbox", checked: chosen.has(run.name), disabled: run.state !== "finished", "aria-label": `Compare ${run.name}`, "data-key": `box ${run.name}` });
      box.addEventListener("change", () => { if (box.checked) chosen.add(run.name); else chosen.delete(run.name); compare.disabled = chosen.size < 2; });
      const done = STATUSES.slice(0, 3).reduce((sum, status) => sum + (run.counts[status] || 0), 0);
      const state = run.state === "running" ? `running, ${whole.format(done)} of ${whole.format(run.planned)}${run.left ? `, about ${duration(run.left)} left` : ""}` : run.state;
      return make("tr", {}, make("td", {}, box),
        make("td", { class: "name" }, make("a", { href: run.state === "finished" ? pathOf(run.name) : liveOf(run.name), "data-key": `link ${run.name}` }, run.name), run.problem ? make("div", { class: "error" }, run.problem) : ""),
        make("td", {}, run.model), make("td", {}, make("span", { class: `state ${run.state}` }, state)), make("td", {}, date(run.started)),
        make("td", {}, took(run) === null ? "" : duration(took(run))), make("td", {}, bar(run.counts, run.planned, "share")),
        make("td", { class: "num", title: "tokens" }, run.tokens ? whole.format(run.tokens) : ""), make("td", { class: "num", title: "cost" }, dollars(run.usd)), make("td", {}, ...figures(run)));
    });
    const heads = Object.keys(COLUMNS).map((name) => {
      const button = make("button", { type: "button", "data-key": `sort ${name}` }, name);
      button.addEventListener("click", () => { Object.assign(order, { down: order.by === name ? !order.down : !["run", "model", "state"].includes(name), by: name }); list(latest); });
      return make("th", { scope: "col", class: ["tokens", "cost"].includes(name) ? "num" : "", "aria-sort": order.by !== name ? "none" : order.down ? "descending" : "ascending" }, button);
    });
    const told = runs.length === all.length ? "" : `${whole.format(runs.length)} of ${whole.format(all.length)} runs`;
    return make("section", {}, make("p", { class: "find" }, make("label", { htmlFor: "words" }, "Find "), words, make("span", { class: "quiet", role: "status" }, told)),
      make("div", { class: "wide", tabIndex: 0, role: "region", "aria-label": "Runs" }, make("table", { class: "runs" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "compare"), ...heads)), make("tbody", {}, ...rows))),
      make("p", {}, compare));
  }

  function figures(run) {
    const shown = run.figures.map((one) => make("span", { class: "figure", title: one.low === null ? "" : `95 % interval ${one.low.toFixed(1)} to ${one.high.toFixed(1)}` },
      `${one.benchmark} ${one.name}${one.limit ? ` (${one.limit})` : ""} `, make("b", {}, figure(one.value))));
    const all = STATUSES.reduce((sum, status) => sum + (run.counts[status] || 0), 0);
    return run.state === "finished" && 2 * (run.counts.broken || 0) > all ? [make("b", { class: "alert" }, "Most cases are broken. "), ...shown] : shown;
  }

  // Figures of one model on the same cases with the same settings, in the order in which its runs began.
  function overTime(runs) {
    const series = new Map();
    for (const run of [...runs].sort((one, other) => one.started - other.started)) for (const one of run.figures) {
      if (one.value === null) continue;
      const key = JSON.stringify([run.model, one.benchmark, one.name, one.series]);
      if (!series.has(key)) series.set(key, { model: run.model, title: `${one.benchmark} ${one.name}${one.limit ? ` (${one.limit})` : ""}`, points: [] });
      series.get(key).points.push({ value: one.value, name: run.name });
    }
    const several = [...series.values()].filter((one) => one.points.length > 1);
    if (!several.length) return "";
    const rows = several.map(({ model, title, points }) => make("tr", { class: "spark-row" }, make("td", {}, model), make("td", {}, title), make("td", {}, spark(points, `${model}, ${title}`)),
      make("td", { class: "num" }, points[0].value.toFixed(2)), make("td", { class: "num" }, points.at(-1).value.toFixed(2)), make("td", { class: "num" }, String(points.length))));
    return make("section", {}, make("h2", {}, "Trends of a model, on the same cases with the same settings"), table("", "Trends", ["model", "figure", "trend", "#first", "#last", "#runs"], rows));
  }

  function spark(points, title) {
    const space = "http://www.w3.org/2000/svg";
    const values = points.map((point) => point.value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const place = (point, number) => [(150 * number) / (points.length - 1) + 5, high === low ? 17 : 30 - (26 * (point.value - low)) / (high - low)];
    const picture = document.createElementNS(space, "svg");
    picture.setAttribute("class", "spark");
    picture.setAttribute("viewBox", "0 0 160 34");
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", `${title}: ${values.map((value) => value.toFixed(2)).join(", ")}`);
    const line = document.createElementNS(space, "path");
    line.setAttribute("d", points.map((point, number) => `${number ? "L" : "M"}${place(point, number).join(" ")}`).join(""));
    picture.append(line);
    points.forEach((point, number) => {
      const [x, y] = place(point, number);
      const dot = document.createElementNS(space, "circle");
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
      dot.setAttribute("r", 3);
      const told = document.createElementNS(space, "title");
      told.textContent = `${point.name}: ${point.value.toFixed(2)}`;
      dot.append(told);
      picture.append(dot);
    });
    return picture;
  }

  // -- a run that goes on

  function live(run) {
    document.title = `${run.model} · AgentGauge`;
    document.getElementById("title").textContent = run.model || run.name;
    const back = make("p", { class: "back" }, make("a", { href: "#" }, "All runs"));
    if (run.state === "finished") {
      document.getElementById("line").textContent = `${run.name}: finished${run.finished && run.started ? ` in ${duration(run.finished - run.started)}` : ""}`;
      main.replaceChildren(make("section", {}, bar(run.counts, run.planned, "progress"),
        make("p", {}, STATUSES.map((status) => `${whole.format(run.counts[status] || 0)} ${status}`).join(" · ")), make("p", {}, ...figures(run)), make("p", {}, make("a", { href: pathOf(run.name) }, "Open the report")), back));
      return;
    }
    const now = run.live;
    if (!now) { // it cannot be read
      document.getElementById("line").textContent = `${run.name}: ${run.problem}`;
      main.replaceChildren(make("section", {}, back));
      return;
    }
    const done = now.counts.passed + now.counts.wrong + now.counts.broken;
    const total = (value, name) => make("div", { class: "total" }, make("b", {}, value), make("span", {}, name));
    const how = run.state === "stopped" ? `stopped early; continue with ${run.resume}` : now.planned ? `running for ${duration(run.now - run.started)}` : "collecting its cases";
    document.getElementById("line").textContent = `${run.name}: ${how}`;
    const rows = now.tasks.map((task) => make("tr", {}, make("td", {}, task.name), make("td", {}, bar(task, task.planned, "progress")),
      make("td", { class: "num" }, `${whole.format(task.passed + task.wrong + task.broken)} of ${whole.format(task.planned)}`), make("td", { class: "num" }, whole.format(task.passed))));
    main.replaceChildren(make("section", {}, make("div", { class: "totals" }, total(`${whole.format(done)} of ${whole.format(now.planned)}`, "cases"),
      ...STATUSES.slice(0, 3).map((status) => total(whole.format(now.counts[status]), status)), run.state === "running" ? total(whole.format(Math.round(now.per_minute)), "cases a minute") : "", total(whole.format(now.tokens), "tokens"),
      now.usd ? total(`$${now.usd.toFixed(2)}`, "cost") : "", now.left && run.state === "running" ? total(`about ${duration(now.left)}`, "left") : ""), bar(now.counts, now.planned, "progress"), back),
    make("section", {}, make("h2", {}, "Tasks"), table("full bars", "Tasks", ["task", "outcomes", "#ended", "#passed"], rows)),
    make("section", {}, make("h2", {}, "Latest wrong or broken cases"), now.failures.length ? make("ul", { class: "failures" }, ...now.failures.map((one) => make("li", {},
      make("span", { class: `chip status is-${one.status}` }, one.status), ` ${one.case[0]} ${one.case[1]}${one.case[2] > 1 ? `, attempt ${one.case[2]}` : ""} `, make("span", { class: "quiet" }, one.why)))) : make("p", { class: "quiet" }, "None.")));
  }

  // -- what the address says is shown, and renewed by the server

  function follow() {
    events?.close();
    if (document.hidden) return; // a browser allows few connections to one server, and the page is not seen
    let name = location.hash.startsWith("#run=") ? location.hash.slice(5) : "";
    try { name = decodeURIComponent(name); } catch { name = ""; }
    const source = new EventSource(name ? `/events?run=${encodeURIComponent(name)}` : "/events");
    events = source;
    source.addEventListener("message", (event) => { (name ? live : list)(JSON.parse(event.data)); });
    source.addEventListener("error", () => {
      const gone = source.readyState === EventSource.CLOSED;
      document.getElementById("line").textContent = gone ? "This run does not exist, or agentgauge view was restarted. Open the address that agentgauge view printed." : "The connection is lost; trying again …";
    });
  }
  window.addEventListener("hashchange", follow);
  document.addEventListener("visibilitychange", follow);
  follow();
})();
