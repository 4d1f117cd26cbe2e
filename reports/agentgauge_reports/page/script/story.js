// An opened case: the question and its pictures, how it ended and why, the expected steps beside the actual ones, the transcript.

const contentOf = (content) => (Array.isArray(content) ? content.map((part) => (part?.type === "text" ? asText(part.text) : asText(part))).join("\n") : asText(content ?? ""));

function story(place, said, took) {
  const status = STATUSES[cases.status[place]];
  const files = said.files || {};
  const parts = [];
  const part = (title, ...content) => parts.push(make("h3", {}, title), ...content);
  const steps = said.steps || [];
  const opening = steps.slice(0, (steps.findIndex((step) => step.is !== "message") + 1 || steps.length + 1) - 1);
  const question = said.asked === undefined || said.asked === null ? "" : contentOf(steps[said.asked].content);
  const drawn = Object.fromEntries(Object.entries(files).filter(([path]) => opening.some((step) => contentOf(step.content).includes(path))));
  if (question) part("Question", make("div", { class: "question" }, textBlock(question), pictures(Object.keys(drawn).join("\n"), drawn)));
  parts.push(make("div", { class: "chips" }, make("span", { class: `chip status is-${status}` }, status), ...cases.tags[place].map((tag) => put(make("span", { class: "chip" }), data.tags[tag]))), facts(place, said));
  const judged = (said.artifacts || []).length; // its tree says what the verdict says
  if (said.verdict || said.error) parts.push(make("details", { open: !judged, class: `verdict is-${status}` }, make("summary", {}, said.error ? `Broken: ${said.cause || "unknown cause"}` : "Verdict"), textBlock(said.error || said.verdict, "mono")));
  for (const artifact of said.artifacts || []) part("Judged", make("div", { class: "artifact" }, grown(artifact)));
  if (said.gold && said.gold.length) part("Expected and actual", goldTable(said.gold, files));
  if (said.delivered && said.delivered.length) part("Delivered", ...said.delivered.map((path) => make("div", {}, put(make("code"), path))), pictures(said.delivered.join("\n"), files));
  const later = Object.fromEntries(Object.entries(files).filter(([path]) => !Object.hasOwn(drawn, path)));
  if (steps.length) part("Transcript", ...steps.map((step) => stepBlock(step, took, opening.includes(step) ? later : files)));
  if (said.values && Object.keys(said.values).length) parts.push(make("details", {}, make("summary", {}, "What the case adds to the figures"), argumentTable(said.values)));
  return parts;
}

function facts(place, said) {
  if (said.unshown) return put(make("p", { class: "unshown" }), said.unshown);
  if (!said.usage) return make("p", {}, "This case was not attempted.");
  const [requests, prompt, completion, usd] = said.usage;
  const parts = [`${counted(requests, "request")}`, `${whole.format(prompt)} tokens in, ${whole.format(completion)} tokens out`, usd ? dollars(usd) : "", seconds(times.seconds[place]), `seed ${said.seed}`];
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
