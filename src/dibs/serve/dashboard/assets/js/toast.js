// A word about what was done, which goes away by itself; what went wrong stays for longer.

import { h } from "./dom.js";

export function say(text, bad = false) {
  const toast = h("div", { class: bad ? "toast bad" : "toast" }, text);
  document.getElementById("toasts").append(toast);
  setTimeout(() => toast.remove(), bad ? 9000 : 3500);
}
