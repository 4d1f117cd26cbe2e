// Allure 3's configuration of the results in this folder. From any folder: npx allure generate --config THIS_FILE
//
// Each run has left agentgauge-*.json here. To change something, let a file of your own import this one:
//   import ours from "./allure-results/allurerc.mjs";
//   export default { ...ours, historyPath: "elsewhere.jsonl" };
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const runs = readdirSync(here)
  .filter((name) => /^agentgauge-.*\.json$/.test(name))
  .sort()
  .map((name) => JSON.parse(readFileSync(join(here, name), "utf-8")));
if (!runs.length) throw new Error(`${here} holds no agentgauge-*.json, which runs leave with their results; write them again`);
const name = runs.map((run) => run.name).join(" | ");
const ids = runs.map((run) => run.environment.id).join("+");
// a trend goes on with the same models, data and cases only; run_files.py computes the same name
const history = runs.length === 1 ? ids : `${runs.length}-runs-${createHash("md5").update(ids).digest("hex").slice(0, 8)}`;
const charts = [
  { type: "currentStatus", title: "Cases by status" },
  { type: "statusDynamics", title: "Status over the runs with the same cases", limit: 10 },
  { type: "statusTransitions", title: "Cases that turned since the run before", limit: 10 },
  { type: "stabilityDistribution", title: "Stability by task", threshold: 90, groupBy: "label-name:task" },
  { type: "durations", title: "How long cases took", groupBy: "none" },
];
const titled = (words) => `${words} · ${runs.map((run) => `${run.name} · ${run.counts}`).join(" | ")}`.slice(0, 200);

export default {
  name: name.slice(0, 200),
  resultsDir: [here.replace(/[[\]{}()*?!+@]/g, "[$&]")], // a pattern
  output: join(here, "dashboard"),
  historyPath: join(here, runs[0].history, `${history}.jsonl`),
  historyLimit: 30,
  environments: Object.fromEntries(
    runs.map(({ environment: { id, name: value } }) => [
      id,
      { name: value, matcher: ({ labels }) => labels.some((label) => label.name === "environment" && label.value === value) },
    ]),
  ),
  plugins: {
    awesome: {
      options: { reportName: titled("By benchmark"), groupBy: ["epic", "feature", "story"], charts, sections: ["charts"] },
    },
    capabilities: {
      import: "@allurereport/plugin-awesome",
      options: { reportName: titled("By capability"), groupBy: ["parentSuite", "suite"], charts },
    },
  },
  categories: { rules: runs[0].categories },
  qualityGate: { rules: runs.flatMap((run) => run.gates) },
};
