// The frame around every page: which queues there are, where one is, and whether what is shown is live.

import { h, fill, reconcile } from "./dom.js";
import { connection, queues } from "./live.js";
import { parse, to } from "./router.js";
import { rights } from "./steps.js";
import { showKeys } from "./dialog.js";
import { hasToken, keepToken } from "./api.js";
import { short } from "./words.js";

const SAID = { begins: "connecting…", live: "live", lost: "connection lost" };
let parts = null;

export function drawShell(version) {
  const list = h("div", { class: "queues" });
  const home = h("a", { href: "#/" }, h("span", { class: "name" }, "Overview"));
  const live = h("span", { class: "live" });
  const forget = () => {
    keepToken("");
    location.reload();
  };
  fill(
    document.getElementById("side"),
    h(
      "a",
      { class: "brand", href: "#/", "aria-label": "dibs, overview" },
      h("img", { src: "assets/icon.svg", alt: "" }),
      "dibs",
    ),
    h("nav", { "aria-label": "Queues" }, home, h("h2", {}, "Queues"), list),
    h(
      "div",
      { class: "foot" },
      !rights.write && h("p", { class: "note" }, "Read only"),
      h(
        "div",
        { class: "row" },
        live,
        h(
          "button",
          { class: "plain keys", type: "button", onclick: showKeys, "aria-label": "Keyboard shortcuts" },
          h("kbd", {}, "?"),
        ),
      ),
      h(
        "div",
        { class: "row" },
        h("span", { class: "version" }, version),
        hasToken() && h("button", { class: "plain", type: "button", onclick: forget }, "Forget token"),
      ),
    ),
  );
  parts = { list, home, live };
  updateShell();
}

export function updateShell() {
  if (!parts) return;
  const { parts: path } = parse();
  const here = path[0] === "q" ? path[1] : null;
  mark(parts.home, here === null);
  const shown = [...queues.values()]
    .sort((a, b) => a.name.localeCompare(b.name))
    .map(({ name, stats }) => ({ name, ready: stats?.states.ready ?? null, here: name === here }));
  reconcile(parts.list, shown, (queue) => queue.name, entry);
  parts.live.dataset.state = connection();
  if (parts.live.textContent !== SAID[connection()]) parts.live.textContent = SAID[connection()];
}

function entry({ name, ready, here }) {
  const link = h(
    "a",
    { href: to("q", name), title: name },
    h("span", { class: "name" }, name),
    ready !== null && h("span", { class: "count" }, short(ready), h("span", { class: "hidden-text" }, " ready")),
  );
  mark(link, here);
  return link;
}

function mark(link, current) {
  if (current) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
}
