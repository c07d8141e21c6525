// Questions before something that cannot be taken back, and the list of keys.

import { h } from "./dom.js";

export function ask(title, text, yes, { danger = false } = {}) {
  return new Promise((settle) => {
    const go = h("button", { class: danger ? "danger" : "primary", value: "yes" }, yes);
    const dialog = h(
      "dialog",
      {
        "aria-labelledby": "asked",
        onclose: () => {
          dialog.remove();
          settle(dialog.returnValue === "yes");
        },
      },
      h("h2", { id: "asked" }, title),
      h("p", { class: "soft" }, text),
      h("form", { method: "dialog", class: "buttons" }, h("button", { value: "" }, "Leave it"), go),
    );
    document.body.append(dialog);
    dialog.showModal();
    go.focus();
  });
}

const KEYS = [
  ["/", "search"],
  ["↑ ↓ or j k", "from row to row"],
  ["Enter", "open"],
  ["x", "choose a row"],
  ["n p", "next and previous page"],
  ["g then o", "overview"],
  ["g then t, w, c, d", "tasks, workers, charts, dependencies"],
  ["Esc", "back"],
  ["?", "this list"],
];

export function showKeys() {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys", onclose: () => dialog.remove() },
    h("h2", { id: "keys" }, "Keys"),
    h(
      "dl",
      {},
      KEYS.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)]),
    ),
    h("form", { method: "dialog", class: "buttons" }, h("button", { class: "primary" }, "Close")),
  );
  document.body.append(dialog);
  dialog.showModal();
}
