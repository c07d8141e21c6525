// A chart of lines over time, drawn at the width it has. Figures are read off with the pointer or the arrow keys.

import { h, s, fill } from "./dom.js";

const HEIGHT = 190;
const EDGE = { left: 52, right: 10, top: 8, bottom: 22 };

// lines: [{name, values, tone, second}]; `ago`: seconds before now of each value; null in values is a gap.
export function chart({ title, lines, ago, span, step, say, mark = say, top = nice, none }) {
  const place = h("div");
  const keys = lines.map((line) =>
    h("span", { class: `key ${line.tone} ${line.second ? "second" : ""}` }, line.name, h("b")),
  );
  const figure = h("figure", { class: "card chart" }, h("figcaption", {}, h("h2", {}, title), h("p", {}, keys)), place);
  const some = lines.some((line) => line.values.some((value) => value !== null));
  let width = 0;

  const read = (at) =>
    keys.forEach((key, number) => {
      const value = lines[number].values[at];
      key.lastChild.textContent = value === null || value === undefined ? "–" : say(value);
    });

  const draw = () => {
    if (!some) return fill(place, h("p", { class: "none" }, none));
    const most = top(Math.max(...lines.flatMap((line) => line.values.map((value) => value ?? 0)), 0));
    const x = (seconds) => EDGE.left + (1 - seconds / span) * (width - EDGE.left - EDGE.right);
    const y = (value) => HEIGHT - EDGE.bottom - (value / most) * (HEIGHT - EDGE.top - EDGE.bottom);
    const cross = s("g");
    const svg = s(
      "svg",
      {
        width,
        height: HEIGHT,
        viewBox: `0 0 ${width} ${HEIGHT}`,
        role: "img",
        tabindex: "0",
        "aria-label": summary(title, lines, say),
      },
      [0, most / 2, most].map((value) => [
        s("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
        s("text", { x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, mark(value)),
      ]),
      [1, 0.5, 0].map((part, number) =>
        s(
          "text",
          { x: x(part * span), y: HEIGHT - 5, class: "tick", "text-anchor": ["start", "middle", "end"][number] },
          part ? clock(part * span) : "now",
        ),
      ),
      lines.map((line) => curve(line, ago, step, x, y)),
      cross,
    );
    let at = ago.length - 1;
    const point = (number) => {
      at = Math.min(Math.max(number, 0), ago.length - 1);
      read(at);
      svg.classList.add("reading");
      fill(
        cross,
        s("line", { class: "cross", x1: x(ago[at]), x2: x(ago[at]), y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
        lines.map(
          (line) =>
            (line.values[at] ?? null) !== null &&
            s("circle", { class: `dot ${line.tone}`, r: 3.5, cx: x(ago[at]), cy: y(line.values[at]) }),
        ),
        s(
          "text",
          {
            x: Math.min(Math.max(x(ago[at]), EDGE.left + 24), width - EDGE.right - 24),
            y: HEIGHT - 5,
            "text-anchor": "middle",
            class: "at",
          },
          clock(ago[at]),
        ),
      );
    };
    const leave = () => {
      svg.classList.remove("reading");
      fill(cross);
      read(ago.length - 1);
    };
    svg.addEventListener("pointermove", (event) =>
      point(nearest(ago, (1 - (event.offsetX - EDGE.left) / (width - EDGE.left - EDGE.right)) * span)),
    );
    svg.addEventListener("pointerleave", leave);
    svg.addEventListener("blur", leave);
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) {
        event.preventDefault();
        point(at + by);
      }
    });
    fill(place, svg);
    return svg;
  };

  read(ago.length - 1);
  const watch = new ResizeObserver(() => {
    const now = Math.floor(place.clientWidth);
    if (now && now !== width) {
      width = now;
      draw();
    }
  });
  watch.observe(place);
  return { element: figure, stop: () => watch.disconnect() };
}

// Parted where a value is missing, or where nothing was looked at.
function curve({ values, tone, second }, ago, step, x, y) {
  const pieces = [];
  let before = null;
  values.forEach((value, number) => {
    if (value === null) return;
    if (before === null || before - ago[number] > step * 3.5) pieces.push([]);
    pieces.at(-1).push([x(ago[number]), y(value)]);
    before = ago[number];
  });
  return pieces.map((points) => {
    const line = points.map(([px, py], number) => `${number ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");
    const [first, last] = [points[0][0], points.at(-1)[0]];
    if (points.length === 1) return s("circle", { class: `dot ${tone}`, r: 2.5, cx: first, cy: points[0][1] });
    return [
      !second &&
        s("path", { class: `area ${tone}`, d: `${line}L${last.toFixed(1)} ${y(0)}L${first.toFixed(1)} ${y(0)}Z` }),
      s("path", { class: `curve ${tone} ${second ? "second" : ""}`, d: line }),
    ];
  });
}

function nearest(ago, seconds) {
  let best = 0;
  ago.forEach((one, number) => {
    if (Math.abs(one - seconds) < Math.abs(ago[best] - seconds)) best = number;
  });
  return best;
}

export function niceTime(seconds) {
  const full = [10, 20, 30, 60, 120, 240, 360, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400];
  return seconds <= 10 ? nice(seconds) : (full.find((one) => one >= seconds * 1.02) ?? nice(seconds / 86400) * 86400);
}

function nice(value) {
  if (value <= 0) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 3, 4, 6, 8, 10].find((part) => part * size >= value * 1.02) * size || 20 * size;
}

function clock(ago) {
  return new Date(Date.now() - ago * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}

function summary(title, lines, say) {
  const said = lines.map(({ name, values }) => {
    const known = values.filter((value) => value !== null);
    return known.length ? `${name} now ${say(known.at(-1))}, at most ${say(Math.max(...known))}` : `${name}: nothing`;
  });
  return `${title}. ${said.join("; ")}. Arrow keys read single figures.`;
}
