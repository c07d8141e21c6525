// A line without axes, for a row of a table. What it shows is said in words beside it.

import { s } from "./dom.js";

export function spark(values, { width = 150, height = 28 } = {}) {
  const quiet = !values.some(Boolean);
  const most = Math.max(...values, 1e-9);
  const x = (place) => (place / (values.length - 1)) * (width - 2) + 1;
  const y = (value) => height - 2 - (value / most) * (height - 5);
  const line = values
    .map((value, place) => `${place ? "L" : "M"}${x(place).toFixed(1)} ${y(value).toFixed(1)}`)
    .join("");
  return s(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", class: quiet ? "quiet" : "completed" },
    s("path", { class: "area", d: `${line}L${x(values.length - 1)} ${height}L1 ${height}Z` }),
    s("path", { class: "curve", d: line }),
  );
}
