// What a search finds: questions, verdicts, tools and file names at once, replies where the reader asks for it.

let index = null; // made at the first search
const indexed = () => (index ??= cases.sample.map((sample, place) => [taskName(place), sample, ...["question", "why", "named"].map((name) => data.texts[cases[name][place]]),
  ...cases.tags[place].map((tag) => data.tags[tag])].join("\n").toLowerCase()));
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

// The last search in replies: its words, the cases that it found, and whether it goes on.
const replies = { words: "", found: new Set(), running: false };

function foundCases() {
  const words = wordsOf(state.words);
  const inReplies = replies.words && replies.words === words.join(" ") ? replies.found : new Set();
  const [task, status, kind] = [data.tasks.findIndex(({ name }) => name === state.task), STATUSES.indexOf(state.status), data.kinds.findIndex(([name]) => name === state.kind)];
  const hay = words.length ? indexed() : null;
  const hits = [];
  for (let place = 0; place < cases.sample.length; place += 1) {
    if (state.task && cases.task[place] !== task) continue;
    if (state.status && cases.status[place] !== status) continue;
    if (state.kind && cases.kind[place] !== kind) continue;
    if (hay && !inReplies.has(place) && !words.every((word) => hay[place].includes(word))) continue;
    hits.push(place);
  }
  return hits;
}

async function searchReplies() {
  const words = wordsOf(state.words);
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
  if (!replies.words || replies.words === wordsOf(state.words).join(" ")) return;
  Object.assign(replies, { words: "", found: new Set(), running: false });
  progress(null, "");
}
