// The keyboard, on every page. Letters do nothing while something is being typed.

import { showKeys } from "./dialog.js";
import { go, parse, to } from "./router.js";

const TABS = { t: [], w: ["workers"], c: ["charts"], d: ["graph"] };
let after = 0; // when `g` was pressed

export function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
    if (typing) {
      if (event.key === "Escape") typing.blur();
      return;
    }
    if (pressed(event)) event.preventDefault();
  });
}

function pressed(event) {
  if (event.timeStamp - after < 1200 && jumped(event.key)) return true;
  after = event.key === "g" ? event.timeStamp : 0;
  switch (event.key) {
    case "/":
      return focused("[data-search]");
    case "?":
      showKeys();
      return true;
    case "ArrowDown":
    case "j":
      return moved(1);
    case "ArrowUp":
    case "k":
      return moved(-1);
    case "n":
      return clicked("[data-next]");
    case "p":
      return clicked("[data-previous]");
    case "x":
      return chosen();
    case "Escape":
      return up();
    default:
      return false;
  }
}

function jumped(key) {
  after = 0;
  if (key === "o") return (go("#/"), true);
  const { parts } = parse();
  if (parts[0] !== "q" || !(key in TABS)) return false;
  go(to("q", parts[1], ...TABS[key]));
  return true;
}

function moved(by) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  if (!rows.length) return false;
  const here = rows.findIndex((row) => row.closest("tr, li")?.contains(document.activeElement));
  const there = here < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(Math.max(here + by, 0), rows.length - 1);
  rows[there].focus();
  return true;
}

function chosen() {
  return Boolean(document.activeElement.closest("tr")?.querySelector("input[type=checkbox]")?.click() ?? true);
}

function focused(selector) {
  const found = document.querySelector(selector);
  found?.focus();
  found?.select?.();
  return Boolean(found);
}

function clicked(selector) {
  const found = document.querySelector(selector);
  if (found && !found.disabled) found.click();
  return Boolean(found);
}

function up() {
  const back = document.querySelector("[data-up]");
  if (back) go(back.getAttribute("href"));
  return Boolean(back);
}
