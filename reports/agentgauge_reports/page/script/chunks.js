// Transcripts come in chunks of many cases, from inside the page or from files beside it, when they are asked for.

const starts = []; // the first case of each chunk
cases.chunk.forEach((chunk, place) => { starts[chunk] ??= place; });

const KEPT = 6; // chunks in memory
const loaded = new Map();
const waiting = new Map();
window.agentgaugeChunk = (number, text) => waiting.get(number)?.(text);

function load(number) {
  const chunk = loaded.get(number) ?? fetched(number).then(unpack);
  loaded.delete(number);
  loaded.set(number, chunk); // the last one is the newest
  chunk.catch(() => loaded.delete(number));
  if (loaded.size > KEPT) loaded.delete(loaded.keys().next().value);
  return chunk;
}

function fetched(number) {
  const inside = byId(`chunk-${number}`);
  if (inside) return Promise.resolve(inside.textContent);
  return new Promise((resolve, reject) => {
    waiting.set(number, resolve);
    const script = make("script", { src: `${times.beside}/${number}.js` });
    const end = (problem) => { waiting.delete(number); script.remove(); reject(new Error(problem)); };
    script.addEventListener("error", () => end(`The file ${times.beside}/${number}.js is not there; keep this page and that folder together.`));
    script.addEventListener("load", () => end(`The file ${times.beside}/${number}.js holds no transcripts.`));
    document.head.append(script);
  });
}

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}
