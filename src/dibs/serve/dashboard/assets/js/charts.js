// Throughput, what waits, and how long tasks take, over the last minutes or hours.

import { h, fill } from "./dom.js";
import { get } from "./api.js";
import { to, withQuery } from "./router.js";
import { queueHead } from "./queue.js";
import { chart, niceTime } from "./chart.js";
import { trouble } from "./parts.js";
import { duration, mark, rate, short } from "./words.js";

const SPANS = { "15m": "15 minutes", "1h": "1 hour", "12h": "12 hours" };
const AGAIN = 10000;

export function charts(main, name, query) {
  const span = query.get("span") in SPANS ? query.get("span") : "1h";
  const head = queueHead(name, "charts");
  const spans = h(
    "nav",
    { class: "spans", "aria-label": "Span of the charts" },
    Object.entries(SPANS).map(([key, word]) =>
      h(
        "a",
        { href: withQuery(to("q", name, "charts"), { span: key }), "aria-current": key === span ? "page" : null },
        word,
      ),
    ),
  );
  const place = h("div", { class: "charts" });
  const about = h("p", { class: "under-charts" });
  fill(main, head.elements, h("div", { class: "filters" }, spans), place, about);
  let drawn = [];
  let over = false;

  const load = async () => {
    try {
      const found = await get("v1/dashboard/series", { queue: name, span });
      if (over || place.contains(document.activeElement) || place.matches(":hover")) return; // somebody is reading
      for (const one of drawn) one.stop();
      drawn = figures(found).map(chart);
      fill(
        place,
        drawn.map((one) => one.element),
      );
      about.textContent = explained(found);
    } catch (error) {
      if (!over && !drawn.length) fill(place, trouble(error.message));
    }
  };

  load();
  const timer = setInterval(load, AGAIN);
  return {
    title: `${name}: charts`,
    news: (changed) => {
      if (changed === name) {
        head.draw();
        if (!drawn.length) load();
      }
    },
    stop: () => {
      over = true;
      clearInterval(timer);
      for (const one of drawn) one.stop();
    },
  };
}

function figures(found) {
  const shared = { ago: found.ago, span: found.span, step: found.step };
  const early = "The first figures come after a few seconds. They are kept in memory, from the start of the daemon on.";
  const late = "No task was seen to be completed in this time.";
  return [
    {
      ...shared,
      title: "Throughput, tasks a second",
      say: rate,
      none: early,
      lines: [
        { name: "pushed", tone: "pushed", values: found.pushed, second: true },
        { name: "completed", tone: "completed", values: found.completed },
        { name: "failed", tone: "failed", values: found.failed },
      ],
    },
    {
      ...shared,
      title: "Waiting and running",
      say: (value) => short(Math.round(value)),
      none: early,
      lines: [
        { name: "ready", tone: "ready", values: found.ready },
        { name: "claimed", tone: "claimed", values: found.claimed },
        { name: "scheduled", tone: "scheduled", values: found.scheduled, second: true },
        { name: "blocked", tone: "blocked", values: found.blocked, second: true },
      ],
    },
    {
      ...shared,
      title: "Running, claim to completion",
      say: duration,
      mark,
      top: niceTime,
      none: late,
      lines: [
        { name: "median", tone: "claimed", values: found.runs_median },
        { name: "95 %", tone: "claimed", values: found.runs_most, second: true },
      ],
    },
    {
      ...shared,
      title: "Waiting, push to claim",
      say: duration,
      mark,
      top: niceTime,
      none: late,
      lines: [
        { name: "median", tone: "scheduled", values: found.waits_median },
        { name: "95 %", tone: "scheduled", values: found.waits_most, second: true },
      ],
    },
  ];
}

function explained(found) {
  const paid = found.paid
    ? " Looking at this queue costs requests, so it is looked at only while a dashboard is open."
    : "";
  return (
    "Counts are differences between looks at the queue, so what was purged between two looks is missing. " +
    "Times are estimated from the leases that a look saw held and that were completed later, whoever held them. " +
    `All of it is in the daemon's memory: a restart begins anew.${paid}`
  );
}
