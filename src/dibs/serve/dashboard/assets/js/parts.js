// Small pieces that several pages show.

import { h } from "./dom.js";
import { say } from "./toast.js";
import { plural } from "./words.js";

export const STATES = ["ready", "claimed", "scheduled", "blocked", "failed", "completed", "cancelled"];

export function badge(state) {
  return h("span", { class: `state ${STATES.includes(state) ? state : "unknown"}` }, state);
}

// Where there is nothing yet: what that means, and the command that changes it.
export function empty(what, more, command) {
  return h("div", { class: "empty" }, h("p", {}, h("strong", {}, what), more), command && copied(command));
}

export function nobodyWorks(queue, waiting) {
  if (waiting)
    return empty(
      `${plural(waiting, "worker waits", "workers wait")} for tasks.`,
      "Push one:",
      `dibs push ${urlOf(queue)} '{"url": "https://example.com"}'`,
    );
  return empty("Nobody works on anything.", "Start a worker:", `dibs work ${urlOf(queue)} -- ./job {}`);
}

function copied(command) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      say("copied");
    } catch {
      say("the browser does not let a page copy here; select the text", true);
    }
  };
  return h(
    "span",
    { class: "command" },
    h("code", {}, command),
    h("button", { class: "plain", type: "button", onclick: copy, "aria-label": "Copy the command" }, "Copy"),
  );
}

export function urlOf(queue) {
  return `${location.origin}/${queue}`;
}

export function trouble(text) {
  return h("div", { class: "trouble", role: "alert" }, text);
}

export function facts(...pairs) {
  const shown = pairs.filter((pair) => pair && pair[1] !== null && pair[1] !== undefined && pair[1] !== "");
  return h(
    "dl",
    { class: "facts" },
    shown.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]),
  );
}

export function section(title, ...children) {
  return h("section", { class: "card section" }, h("h2", {}, title), children);
}
