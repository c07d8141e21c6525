// Numbers and times for people. Times come from the server together with its own now: two clocks are never compared.

import { h } from "./dom.js";

const UNITS = [
  [86400, "d", 3600, "h"],
  [3600, "h", 60, "min"],
  [60, "min", 1, "s"],
];
let ahead = 0; // of the server's clock before this one's, in seconds

export function setNow(seconds) {
  ahead = seconds - Date.now() / 1000;
}

export function now() {
  return Date.now() / 1000 + ahead;
}

export function count(number) {
  return number.toLocaleString("en-US");
}

export function short(number) {
  if (number < 10000) return count(number);
  if (number < 1e6) return `${(number / 1000).toFixed(number < 1e5 ? 1 : 0)}k`;
  return `${(number / 1e6).toFixed(number < 1e7 ? 2 : 1)}M`;
}

export function rate(perSecond) {
  if (!perSecond) return "0";
  if (perSecond >= 100) return count(Math.round(perSecond));
  return perSecond >= 0.1 ? perSecond.toFixed(1) : perSecond.toFixed(2);
}

export function duration(seconds) {
  if (seconds < 0.0995) return `${Math.max(seconds * 1000, 0).toFixed(0)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  for (const [size, name, part, partName] of UNITS) {
    if (whole < size) continue;
    const rest = Math.floor((whole % size) / part);
    return `${Math.floor(whole / size)} ${name}${rest ? ` ${rest} ${partName}` : ""}`;
  }
  return `${whole} s`;
}

// A duration at an axis: one unit, few digits.
export function mark(seconds) {
  if (!seconds) return "0";
  const [size, name] =
    seconds < 1 ? [0.001, "ms"] : seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"] : [3600, "h"];
  return `${Number((seconds / size).toPrecision(2))} ${name}`;
}

// An age is as long as it says to a second or so: no tenths that run.
function coarse(seconds) {
  return seconds < 10 ? `${Math.max(Math.floor(seconds), 0)} s` : duration(seconds);
}

function rough(seconds) {
  const [size, name] =
    seconds < 60 ? [1, "s"] : seconds < 3600 ? [60, "min"] : seconds < 86400 ? [3600, "h"] : [86400, "d"];
  return `${Math.max(Math.floor(seconds / size), 0)} ${name}`;
}

export function stamp(seconds) {
  return new Date((seconds - ahead) * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

const SAID = {
  ago: (at) => `${rough(now() - at)} ago`,
  for: (at) => coarse(now() - at),
  in: (at) => (at > now() ? `in ${coarse(at - now())}` : "now"),
  left: (at) => (at > now() ? coarse(at - now()) : "over"),
};

// A time that goes on: `kind` is one of SAID.
export function time(at, kind = "ago") {
  const iso = new Date(at * 1000);
  const element = h("time", {
    datetime: Number.isNaN(iso.getTime()) ? null : iso.toISOString(),
    title: stamp(at),
    class: "nowrap",
  });
  element.dataset.at = at;
  element.dataset.kind = kind;
  element.textContent = SAID[kind](at);
  return element;
}

export function tick(root = document) {
  for (const element of root.querySelectorAll("time[data-at]")) {
    const said = SAID[element.dataset.kind](Number(element.dataset.at));
    if (element.textContent !== said) element.textContent = said;
  }
}

export function plural(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function named(task) {
  return task.key ?? task.id;
}

// Of an id that is made by time the end tells them apart.
export function shortId(id) {
  return /^[0-9a-f]{32}$/.test(id) ? `${id.slice(0, 8)}…${id.slice(-6)}` : id;
}
