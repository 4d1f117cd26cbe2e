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
  if (!tried.length) for (const element of document.querySelectorAll("#reliability, nav a[href='#reliability']")) element.remove();
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
