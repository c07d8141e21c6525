// All queues at a glance.

import { h, fill, reconcile } from "./dom.js";
import { queues } from "./live.js";
import { spark } from "./spark.js";
import { to } from "./router.js";
import { empty } from "./parts.js";
import { count, rate, short } from "./words.js";

const COLUMNS = ["ready", "claimed", "scheduled", "blocked", "failed", "completed"];

export function overview(main) {
  const tiles = h("dl", { class: "tiles" });
  const body = h("tbody");
  const head = h(
    "tr",
    {},
    h("th", { scope: "col" }, "Queue"),
    COLUMNS.map((state) =>
      h("th", { scope: "col", class: wide(state, "number") }, state[0].toUpperCase() + state.slice(1)),
    ),
    h("th", { scope: "col", class: "number wide" }, "Workers"),
    h("th", { scope: "col", class: "number" }, "Done/s"),
    h("th", { scope: "col", class: "wide" }, "Last 30 minutes"),
  );
  const table = h(
    "div",
    { class: "card scroll" },
    h("table", { class: "overview" }, h("caption", { class: "hidden-text" }, "Queues"), h("thead", {}, head), body),
  );
  fill(main, h("div", { class: "head" }, h("h1", { tabindex: "-1" }, "Queues")), tiles, table);

  const draw = () => {
    const all = [...queues.values()].sort((a, b) => a.name.localeCompare(b.name));
    fill(tiles, totals(all));
    if (!all.length) fill(table, empty("No queue is served.", null, "dibs serve queues/scrape"));
    reconcile(
      body,
      all.map(({ name, stats, rates, line, error }) => ({ name, stats, rates, line, error })),
      (queue) => queue.name,
      row,
    );
  };
  draw();
  return { title: "Queues", news: draw };
}

function wide(state, more) {
  return ["ready", "claimed", "failed"].includes(state) ? more : `${more} wide`;
}

function totals(all) {
  const sum = (state) => all.reduce((total, queue) => total + (queue.stats?.states[state] ?? 0), 0);
  const done = all.reduce((total, queue) => total + queue.rates.completed, 0);
  const waiting = sum("ready") + sum("scheduled") + sum("blocked");
  return [
    ["Waiting", short(waiting)],
    ["Running", short(sum("claimed"))],
    ["Failed", short(sum("failed")), sum("failed") ? "failed" : null],
    ["Done per second", rate(done)],
  ].map(([name, value, tone]) => h("div", { class: "card tile" }, h("dt", {}, name), h("dd", { class: tone }, value)));
}

function row({ name, stats, rates, line, error }) {
  const link = h("a", { class: "whole name", href: to("q", name), "data-row": true }, name);
  const paused = stats && stats.paused !== null && h("span", { class: "badge" }, "paused");
  const cells = COLUMNS.map((state) => {
    const number = stats?.states[state] ?? 0;
    return h(
      "td",
      { class: wide(state, `number ${state} ${number ? "some" : "zero"}`), title: count(number) },
      stats ? short(number) : "–",
    );
  });
  return h(
    "tr",
    {},
    h("td", {}, link, " ", paused, error && h("div", { class: "soft" }, error)),
    cells,
    h("td", { class: "number wide" }, stats ? count(stats.workers) : "–"),
    h("td", { class: "number" }, rate(rates.completed)),
    h("td", { class: "spark wide" }, spark(line)),
  );
}
