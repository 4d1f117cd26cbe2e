// The filter of the list: words that a case has, and comparisons such as task:wild status=wrong requests>3; all must hold.

const TEXTS = { // name → the texts that a case has there
  task: (place) => [taskName(place)], sample: (place) => [cases.sample[place]], status: (place) => [STATUSES[cases.status[place]]],
  reason: (place) => data.kinds[cases.kind[place]], question: (place) => [textOf("question")(place)], expected: (place) => [textOf("expected")(place)],
  got: (place) => [textOf("got")(place)], finish: (place) => [textOf("finish")(place)], verdict: (place) => [textOf("why")(place)],
  tag: (place) => cases.tags[place].map((tag) => data.tags[tag]), name: (place) => textOf("named")(place).split(", "),
};
const NUMBERS = { // name → the number that a case has there
  requests: (place) => cases.requests[place], calls: (place) => cases.calls[place], errors: (place) => cases.errors[place], tokens: (place) => cases.tokens[place],
  cost: (place) => cases.usd[place], time: (place) => times.seconds[place], attempt: (place) => cases.attempt[place],
};
const KNOWN = { task: () => data.tasks.map(({ name }) => name), status: () => STATUSES, reason: () => [...new Set([...new Set(cases.kind)].flatMap((kind) => data.kinds[kind]))].filter(Boolean) };
const COMPARE = { "=": (a, b) => a === b, "!=": (a, b) => a !== b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "<": (a, b) => a < b, "<=": (a, b) => a <= b };
const EXAMPLE = "task:wild status=wrong requests>3 \"two words\"";
const ACCEPTED = `Accepted are words, "a phrase", ${Object.keys(TEXTS).join(", ")} with : (contains), = or !=, and ${Object.keys(NUMBERS).join(", ")} with =, !=, >, >=, < or <= and a number`;

// Returns the words and the tests of a filter, and what is wrong with it, a sentence.
function parseFilter(text) {
  const found = { words: [], tests: [], wrong: "" };
  const term = /([a-z]+)(!=|>=|<=|=|>|<|:)("[^"]*"?|\S*)|"([^"]*)"?|\S+/giy;
  for (let at = text.search(/\S/); at >= 0 && at < text.length; at = term.lastIndex + Math.max(0, text.slice(term.lastIndex).search(/\S|$/))) {
    term.lastIndex = at;
    const [all, name, sign, value, phrase] = term.exec(text);
    const field = (name || "").toLowerCase();
    const isField = Object.hasOwn(TEXTS, field) || Object.hasOwn(NUMBERS, field);
    if (name && (isField ? value : sign !== ":")) {
      try { found.tests.push(comparison(field, sign, value.replace(/^"|"$/g, ""), all)); } catch (error) { found.wrong ||= error.message; }
    } else if (name && isField && sign !== ":") found.wrong ||= `“${all}” has no value behind ${sign}. ${ACCEPTED}.`;
    else if ((phrase ?? all) !== "") found.words.push((phrase ?? all).toLowerCase());
  }
  return found;
}

function comparison(name, sign, value, all) {
  if (Object.hasOwn(NUMBERS, name)) {
    const number = Number(value);
    if (sign === ":" || value === "" || Number.isNaN(number)) throw new Error(`“${all}” does not compare ${name}, a number, with a number. ${ACCEPTED}.`);
    return (place) => COMPARE[sign](NUMBERS[name](place), number);
  }
  if (!Object.hasOwn(TEXTS, name)) throw new Error(`“${all}” asks for ${name}, which no case has; put it into quotation marks to search for these words. ${ACCEPTED}.`);
  const wanted = value.toLowerCase();
  const texts = (place) => TEXTS[name](place).map((each) => each.toLowerCase());
  if (sign === ":") return (place) => texts(place).some((each) => each.includes(wanted));
  if (sign !== "=" && sign !== "!=") throw new Error(`“${all}” compares ${name}, a text, by size. ${ACCEPTED}.`);
  const known = KNOWN[name]?.();
  if (known && !known.some((each) => each.toLowerCase() === wanted)) throw new Error(`“${all}” finds nothing in this run, where ${name} is ${known.slice(0, 12).join(", ")}${known.length > 12 ? " …" : ""}; ${name}:… finds a part of it.`);
  return (place) => texts(place).includes(wanted) === (sign === "=");
}

let parsed = { text: null };
function filterNow() {
  if (parsed.text !== state.words) parsed = { text: state.words, ...parseFilter(state.words) };
  return parsed;
}

// What a search finds: questions, answers, verdicts, tools and file names at once, replies where the reader asks for it.

let index = null; // made at the first search
const indexed = () => (index ??= cases.sample.map((sample, place) => [taskName(place), sample, ...["question", "expected", "got", "why", "named"].map((name) => data.texts[cases[name][place]]),
  ...cases.tags[place].map((tag) => data.tags[tag])].join("\n").toLowerCase()));

// The last search in replies: its words, the cases that it found, and whether it goes on.
const replies = { words: "", found: new Set(), running: false };

function foundCases() {
  const { words, tests, wrong } = filterNow();
  const inReplies = replies.words && replies.words === words.join(" ") ? replies.found : new Set();
  const [task, status, kind] = [data.tasks.findIndex(({ name }) => name === state.task), STATUSES.indexOf(state.status), data.kinds.map(([name]) => name === state.kind || name.startsWith(`${state.kind}/`))];
  const hay = words.length && !wrong ? indexed() : null;
  const hits = [];
  for (let place = 0; place < cases.sample.length; place += 1) {
    if (state.task && cases.task[place] !== task) continue;
    if (state.status && cases.status[place] !== status) continue;
    if (state.kind && !kind[cases.kind[place]]) continue;
    if (hay && !inReplies.has(place) && !words.every((word) => hay[place].includes(word))) continue;
    if (!wrong && !tests.every((test) => test(place))) continue;
    hits.push(place);
  }
  return hits;
}

async function searchReplies() {
  const { words } = filterNow();
  Object.assign(replies, { words: words.join(" "), found: new Set(), running: true });
  const mine = replies.found;
  const count = starts.length;
  let [drawn, told] = [performance.now(), ""];
  for (let number = 0; number < count && replies.running && replies.found === mine; number += 1) {
    try {
      const chunk = await load(number);
      chunk.forEach(({ said }, place) => {
        const hay = (said.steps || []).flatMap(saidIn).join("\n").toLowerCase();
        if (words.every((word) => hay.includes(word))) mine.add(starts[number] + place);
      });
    } catch (error) { told = error.message; break; }
    if (replies.found !== mine) return;
    progress((number + 1) / count, `${whole.format(number + 1)} of ${whole.format(count)} parts of the transcripts searched, ${counted(mine.size, "case")} found`);
    if (performance.now() - drawn > 500) { list(); drawn = performance.now(); }
  }
  if (replies.found !== mine) return;
  progress(null, told || `${replies.running ? "All transcripts searched" : "Stopped"}: ${counted(mine.size, "case")} found.`);
  replies.running = false;
  list();
}

function progress(share, text) {
  byId("replies-bar").hidden = byId("replies-stop").hidden = share === null;
  byId("replies-bar").value = share ?? 1;
  byId("replies-state").textContent = text;
}

// Ends the search in replies where the reader has changed the words.
function endOutdated() {
  if (!replies.words || replies.words === filterNow().words.join(" ")) return;
  Object.assign(replies, { words: "", found: new Set(), running: false });
  progress(null, "");
}
