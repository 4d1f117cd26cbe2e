// Everything above the list of cases.

function header() {
  put(byId("model"), data.model);
  const date = times.started ? new Date(times.started * 1000).toISOString().slice(0, 16).replace("T", " ") + " UTC" : "";
  const took = times.finished && times.started ? span(times.finished - times.started) : "";
  put(byId("facts"), [`run ${times.name}`, date, ...data.facts.map(([name, value]) => `${name} ${value}`)].filter(Boolean).join(" · "));
  const sums = STATUSES.map((status) => data.tasks.reduce((sum, task) => sum + task[status], 0));
  const all = sums.reduce((sum, count) => sum + count, 0);
  const total = (value, name, kind, title = "") => make("div", { class: "total", title }, make("b", {}, value), make("span", {}, kind ? make("i", { class: `dot is-${kind}` }) : "", name));
  const shares = make("div", { class: "share", role: "img", "aria-label": STATUSES.map((status, place) => `${sums[place]} ${status}`).join(", ") });
  sums.forEach((count, place) => { const part = make("i", { class: `is-${STATUSES[place]}` }); part.style.width = `${(100 * count) / (all || 1)}%`; shares.append(part); });
  byId("heads").append(...data.boards.flatMap(({ benchmark, limit, top: figures }) => figures.map((top) =>
    make("a", { href: "#results", class: "total" }, make("b", {}, top.value, make("small", {}, top.interval && `95 %: ${top.interval}`)),
      put(make("span"), `${limited(`${benchmark}: ${top.name}`, limit)}${top.n === null ? "" : ` · ${counted(top.n, "sample")}`}`), top.why ? make("span", { class: "lacks" }, top.why) : ""))));
  for (const text of [data.alarm, ...data.doubts].filter(Boolean)) byId("heads").before(make("p", { class: "alarm", role: "alert" }, text));
  standing(sums);
  if (took) byId("totals").append(total(took, times.resumed ? "wall time of the last session" : "wall time of the run"));
  byId("totals").append(total(whole.format(all), "cases"), ...sums.map((count, place) => total(whole.format(count), STATUSES[place], STATUSES[place])),
    total(whole.format(data.usage.prompt_tokens + data.usage.completion_tokens), "tokens"), data.usage.usd ? total(dollars(data.usage.usd), "cost") : "",
    data.usage.usd_per_passed ? total(dollars(data.usage.usd_per_passed), "cost per passed case") : "", data.usage.cached_tokens ? total(`${((100 * data.usage.cached_tokens) / data.usage.prompt_tokens).toFixed(0)} %`, "of prompt tokens cached") : "", total(span(times.total), `${TIME} summed over cases${times.working ? "" : ", waiting for slots included"}`, "", times.waits.map(([took, what]) => `${span(took)} ${what}`).join(", ")), shares);
  byId("foot").append("One file, no network: it opens from a disk. Transcripts ", data.embedded ? "are inside it." : make("span", {}, "lie beside it in the folder ", make("code", {}, times.beside), "; keep both together."), times.unseen ? ` ${times.unseen}` : "");
}

// Whether to believe the figures, and where the model fails.
function standing(sums) {
  const reasons = [...new Set(data.boards.flatMap((board) => board.reasons.map(([, reason]) => reason)))];
  const apart = data.boards.some((board) => board.editions.some((edition) => edition.rows.length)) ? reasons.length ? `Not comparable with published rows, for ${counted(reasons.length, "reason")}${data.meaning ? "" : `, such as ${reasons[0]}`}.` : "Comparable with published rows." : "";
  const faulty = data.faulty.length && !data.alarm ? `${data.faulty.join(". ")}${sums[2] ? "; “clean” figures leave broken cases out" : ""}.` : "";
  for (const sentence of data.cut) byId("standing").append(make("p", {}, make("b", {}, `${sentence}.`)));
  byId("standing").append(data.meaning ? put(make("p"), data.meaning) : "", make("p", {}, apart ? put(make("a", { href: "#results" }), apart) : "", faulty ? ` ${faulty}` : ""));
  const most = [...data.faults].sort(([, one], [, other]) => sum(other) - sum(one)).slice(0, 3);
  if (most.length) byId("standing").append(make("p", {}, "Most frequent failures: ", ...most.flatMap(([kind, counts], place) => [place ? " · " : "", faultLink(kind, `${data.kinds[kind][1]} (${whole.format(sum(counts))})`)])));
}

const faultLink = (kind, text) => make("button", { type: "button", class: "link", onclick: () => listed({ kind: data.kinds[kind][0] }) }, text);

function capabilities() {
  const share = (value) => (value === null || value === undefined ? "–" : value.toFixed(1));
  byId("capability-table").append(table([{ name: "capability" }, { name: "value", num: true }, { name: "95 % interval", num: true }, { name: "cases", num: true }, { name: "made of" }],
    data.capabilities.map((one) => ({ cells: [one.name, share(one.value), one.low === null ? "" : `${share(one.low)}–${share(one.high)}`, String(one.n), (one.made_of || []).join(", ")] })), { sortable: false }));
}

function overview() {
  if (!data.boards.length) for (const element of document.querySelectorAll("#capabilities, nav a[href='#capabilities']")) element.remove();
  else capabilities();
  const heat = data.tasks.map((task) => ({ cells: [make("span", { title: task.title }, limited(task.name, task.limit)), ...STATUSES.map((status) => {
    const button = make("button", { type: "button", class: `is-${status}`, title: `${task.name}: ${task[status]} ${status}`, disabled: !task[status], onclick: () => listed({ task: task.name, status }) }, String(task[status]));
    button.style.setProperty("--share", (100 * task[status]) / (task.planned || 1));
    return button;
  })] }));
  byId("heat").append(table([{ name: "task" }, ...STATUSES.map((name) => ({ name, num: true, kind: "cell" }))], heat, { kind: "heat full", sortable: false }));
  const most = Math.max(1, ...data.faults.map(([, counts]) => sum(counts)));
  for (const [kind, counts] of [...data.faults].sort(([, one], [, other]) => sum(other) - sum(one))) {
    const [name, title] = data.kinds[kind];
    const bar = make("i");
    bar.style.width = `${(100 * sum(counts)) / most}%`;
    byId("fault-bars").append(make("button", { type: "button", class: "meter", title: Object.entries(counts).map(([benchmark, count]) => `${benchmark}: ${count}`).join(", "), onclick: () => listed({ kind: name }) },
      make("span", {}, title), make("span", { class: "rail" }, bar), make("b", {}, whole.format(sum(counts)))));
  }
  if (!data.faults.length) byId("fault-bars").append(make("p", {}, "No case is wrong or broken."));
  byId("tool-table").append(data.tools.length ? table([{ name: "tool" }, { name: "calls", num: true }, { name: "errors", num: true }, { name: "share of errors", num: true }, { name: "median time", num: true }, { name: "99th percentile", num: true }],
    data.tools.map(([name, calls, errors]) => {
      const [, median, , slow] = times.latency.tool[name] || [];
      return { keys: [name, calls, errors, errors / calls, median, slow], cells: [put(make("span"), name), whole.format(calls), whole.format(errors), `${((100 * errors) / calls).toFixed(0)} %`, seconds(median), seconds(slow)] };
    }), { kind: "full" }) : make("p", { class: "quiet" }, "No real tool ran."));
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
  const part = (title, content) => byId("cost-parts").append(make("div", {}, make("h3", {}, title), content));
  part(`Seconds per case (${TIME}), by task`, table([{ name: "task" }, ...columns], latency(times.latency.case), { kind: "full" }));
  const priced = cases.usd.some(Boolean);
  const spent = data.tasks.map(() => ({ cases: 0, tokens: 0, usd: 0, passed: 0 }));
  cases.task.forEach((task, place) => { spent[task].cases += 1; spent[task].tokens += cases.tokens[place]; spent[task].usd += cases.usd[place]; spent[task].passed += cases.status[place] === 0; });
  const usage = data.tasks.map(({ name }, number) => {
    const { cases: count, tokens, usd, passed } = spent[number];
    const each = passed ? usd / passed : Infinity;
    return { keys: [name, tokens, tokens / (count || 1), usd, each], cells: [name, whole.format(tokens), whole.format(Math.round(tokens / (count || 1))), ...(priced ? [dollars(usd), passed ? dollars(each) : "–"] : [])] };
  });
  part(priced ? "Tokens and cost, by task" : "Tokens, by task", table([{ name: "task" }, { name: "tokens", num: true }, { name: "tokens per case", num: true }, ...(priced ? [{ name: "cost", num: true }, { name: "cost per passed case", num: true }] : [])], usage, { kind: "full" }));
  const top = (values, shown) => table([{ name: "case" }, { name: "status" }, { name: shown === seconds ? TIME : "tokens", num: true }],
    largest(values, 10).map((place) => ({ cells: [caseLink(place, true), statusMark(place), shown === seconds ? seconds(values[place]) : `${whole.format(cases.tokens[place])}${cases.usd[place] ? ` · ${dollars(cases.usd[place])}` : ""}`] })), { sortable: false, kind: "full" });
  part("Slowest cases", top(times.seconds, seconds));
  part(priced ? "Most expensive cases" : "Cases with the most tokens", top(priced ? cases.usd : cases.tokens, whole));
  part("Seconds per request, by model", table([{ name: "model" }, ...columns.map((column) => (column.name === "cases" ? { ...column, name: "requests" } : column))], latency(times.latency.model), { kind: "full" }));
}
