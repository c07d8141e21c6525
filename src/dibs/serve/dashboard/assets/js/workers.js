// Who works on what, for how long, and when each was last heard of.

import { h, s, fill } from "./dom.js";
import { get } from "./api.js";
import { to } from "./router.js";
import { queueHead } from "./queue.js";
import { nobodyWorks, trouble } from "./parts.js";
import { now, plural, setNow, shortId, time } from "./words.js";

const AGAIN = 5000; // heartbeats change no count, so no news tells of them

export function workers(main, name) {
  const head = queueHead(name, "workers");
  const place = h("div");
  fill(main, head.elements, place);
  let over = false;

  const load = async () => {
    try {
      const answer = await get("v1/dashboard/claims", { queue: name });
      if (over) return;
      setNow(answer.now);
      const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
      fill(
        place,
        answer.claims.length
          ? drawn(name, answer.claims)
          : h("div", { class: "card" }, nobodyWorks(name, answer.waiting)),
      );
      if (focused) place.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    } catch (error) {
      if (!over) fill(place, trouble(error.message));
    }
  };

  load();
  const timer = setInterval(load, AGAIN);
  return {
    title: `${name}: workers`,
    news: (changed, fresh) => {
      if (changed !== name) return;
      head.draw();
      if (fresh) load();
    },
    stop: () => {
      over = true;
      clearInterval(timer);
    },
  };
}

function drawn(name, claims) {
  const ordered = [...claims].sort((a, b) => a.worker.localeCompare(b.worker) || a.claimed_at - b.claimed_at);
  const heads = [
    ["Worker"],
    ["Task"],
    ["Held for", "number"],
    ["Heartbeat", "number wide"],
    ["Lease ends", "number wide"],
  ];
  return [
    h(
      "p",
      { class: "filters soft" },
      `${plural(new Set(claims.map((claim) => claim.worker)).size, "worker")}, ${plural(claims.length, "task")} held`,
    ),
    h(
      "div",
      { class: "card scroll" },
      h(
        "table",
        { class: "tasks workers" },
        h("caption", { class: "hidden-text" }, "Who works on what"),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            heads.map(([word, kind]) => h("th", { scope: "col", class: kind }, word)),
          ),
        ),
        h(
          "tbody",
          {},
          ordered.map((claim, at) => row(name, claim, claim.worker === ordered[at - 1]?.worker)),
        ),
      ),
    ),
  ];
}

function row(name, claim, again) {
  const where = h("div", { class: "soft wide" }, `${claim.host}${claim.pid ? `, pid ${claim.pid}` : ""}`);
  return h(
    "tr",
    {},
    h("td", { class: again ? "soft" : null }, claim.worker, !again && where),
    h(
      "td",
      { class: "main" },
      h(
        "a",
        { class: "whole line", href: to("q", name, "t", claim.id), "data-row": true },
        claim.text || (claim.key ?? shortId(claim.id)),
      ),
      claim.text && h("div", { class: "under mono" }, claim.key ?? shortId(claim.id)),
    ),
    h("td", { class: "number" }, time(claim.claimed_at, "for")),
    h("td", { class: "number wide" }, time(claim.heartbeat_at)),
    h(
      "td",
      { class: "number wide" },
      time(claim.expires_at, "in"),
      claim.ttl > 0 && bar((claim.expires_at - now()) / claim.ttl),
    ),
  );
}

// What is left of a lease: it is full again after each heartbeat.
function bar(share) {
  const left = Math.min(Math.max(share, 0), 1);
  return s(
    "svg",
    { class: `bar ${left < 0.25 ? "failed" : ""}`, width: 96, height: 4, "aria-hidden": "true" },
    s("rect", { class: "whole-bar", width: 96, height: 4, rx: 2 }),
    s("rect", { class: "left", width: 96 * left, height: 4, rx: 2 }),
  );
}
