// The head of every page of one queue: its name, whether it is paused, and its tabs.

import { h, fill } from "./dom.js";
import { queues } from "./live.js";
import { to } from "./router.js";
import { pause, resume, rights } from "./steps.js";
import { trouble } from "./parts.js";

const TABS = [
  ["", "Tasks"],
  ["workers", "Workers"],
  ["charts", "Charts"],
  ["graph", "Dependencies"],
];

export function queueHead(name, here) {
  const head = h("div", { class: "head" });
  const tabs = h(
    "nav",
    { class: "tabs", "aria-label": `Pages of ${name}` },
    TABS.map(([path, word]) =>
      h("a", { href: to("q", name, ...(path ? [path] : [])), "aria-current": path === here ? "page" : null }, word),
    ),
  );
  const wrong = h("div");
  let shown = "";

  const draw = () => {
    const queue = queues.get(name);
    const paused = queue?.stats?.paused ?? null;
    const said = JSON.stringify([paused, queue?.error]);
    if (said === shown) return;
    const focused = head.contains(document.activeElement) && document.activeElement.tagName === "BUTTON";
    shown = said;
    const act = async (event) => {
      event.currentTarget.disabled = true;
      await (paused === null ? pause(name) : resume(name));
      shown = "";
      draw();
    };
    fill(
      head,
      h("h1", { tabindex: "-1" }, name),
      paused !== null && h("span", { class: "badge" }, "paused", paused && `: ${paused}`),
      rights.write &&
        h(
          "div",
          { class: "actions" },
          h("button", { type: "button", onclick: act }, paused === null ? "Pause" : "Resume"),
        ),
    );
    if (focused) head.querySelector("button")?.focus();
    fill(wrong, queue?.error && trouble(queue.error));
  };
  draw();
  return { elements: [head, wrong, tabs], draw };
}
