// What waits for what, as a drawing; every node leads to its task.

import { h, s, fill } from "./dom.js";
import { get } from "./api.js";
import { to, withQuery } from "./router.js";
import { queueHead } from "./queue.js";
import { connected, layered } from "./layers.js";
import { STATES, badge, empty, trouble, urlOf } from "./parts.js";
import { named, plural, shortId } from "./words.js";

const SIZE = { width: 204, height: 44, gapX: 52, gapY: 14, edge: 8 };
const BEND = { height: 8, gapY: 10 };

export function graph(main, name, query) {
  const ref = query.get("ref");
  const head = queueHead(name, "graph");
  const said = h("p", { class: "filters soft" });
  const place = h("div", { class: "card" });
  fill(main, head.elements, said, place);
  let shown = "";
  let over = false;

  const load = async () => {
    try {
      const found = await get("v1/dashboard/graph", { queue: name, ref });
      if (over || JSON.stringify(found) === shown) return;
      shown = JSON.stringify(found);
      show(found);
    } catch (error) {
      if (!over) fill(place, trouble(error.message));
    }
  };

  const show = ({ nodes, cut }) => {
    const chosen = ref && nodes.find((node) => node.id === ref || node.key === ref);
    const drawn = chosen ? connected(nodes, chosen.id) : nodes;
    if (!drawn.length) {
      fill(said);
      fill(
        place,
        empty(
          "No task waits for another.",
          "One that runs after others is drawn here with them:",
          `dibs push ${urlOf(name)} '{}' --after KEY`,
        ),
      );
      return;
    }
    fill(
      said,
      `${plural(drawn.length, "task")}, what is needed first on the left. `,
      cut && "There are more; only a part is drawn. ",
      chosen && h("a", { href: to("q", name, "graph") }, "Show all"),
    );
    const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    fill(
      place,
      legend(drawn),
      h(
        "div",
        { class: "graph", tabindex: "0", role: "group", "aria-label": "Graph of dependencies" },
        picture(name, drawn, chosen),
      ),
    );
    if (focused) place.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
  };

  load();
  return {
    title: `${name}: dependencies`,
    news: (changed, fresh) => {
      if (changed === name) {
        head.draw();
        if (fresh) load();
      }
    },
    stop: () => {
      over = true;
    },
  };
}

function legend(nodes) {
  const present = [...STATES, "unknown"].filter((state) => nodes.some((node) => node.state === state));
  return h(
    "p",
    { class: "worker" },
    present.map((state) => badge(state)),
  );
}

function picture(name, nodes, chosen) {
  const { columns, routes } = layered(nodes);
  const room = (node) => (node.bend ? BEND.height + BEND.gapY : SIZE.height + SIZE.gapY);
  const tall = (column) => column.reduce((sum, node) => sum + room(node), 0);
  const height = Math.max(...columns.map(tall)) + 2 * SIZE.edge;
  const width = columns.length * (SIZE.width + SIZE.gapX) - SIZE.gapX + 2 * SIZE.edge;
  const at = new Map();
  columns.forEach((column, x) => {
    let y = (height - tall(column)) / 2;
    for (const node of column) {
      at.set(node.id, {
        x: SIZE.edge + x * (SIZE.width + SIZE.gapX),
        y: y + (node.bend ? BEND.gapY : SIZE.gapY) / 2,
        middle: y + room(node) / 2,
      });
      y += room(node);
    }
  });
  const lines = routes.map((route) => s("path", { class: "edge", d: line(route.map((id) => at.get(id))) }));
  const light = (id, on) =>
    routes.forEach((route, number) => {
      if (route[0] === id || route.at(-1) === id) lines[number].classList.toggle("near", on);
    });
  const marks = columns
    .flat()
    .filter((node) => !node.bend)
    .map((node) => box(name, node, at.get(node.id), node === chosen, nodes, light));
  return s("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, lines, marks);
}

function line(ends) {
  let path = `M${ends[0].x + SIZE.width} ${ends[0].middle}`;
  ends.slice(1).forEach((end, number) => {
    const [x1, y1, x2, y2] = [ends[number].x + SIZE.width, ends[number].middle, end.x, end.middle];
    const pull = Math.max(Math.abs(x2 - x1) / 2, 24);
    path += `C${x1 + pull} ${y1} ${x2 - pull} ${y2} ${x2} ${y2}`;
    if (number < ends.length - 2) path += `L${end.x + SIZE.width} ${y2}`;
  });
  return path;
}

function box(name, node, { x, y }, chosen, nodes, light) {
  const title = node.text || (node.key ?? shortId(node.id));
  const needs = node.after
    .map((id) => nodes.find((other) => other.id === id))
    .filter(Boolean)
    .map(named);
  const under = node.state === "unknown" ? "not in the queue" : node.text ? (node.key ?? shortId(node.id)) : node.state;
  const link = s(
    "a",
    {
      class: `node ${node.state} ${chosen ? "chosen" : ""}`,
      href: node.state === "unknown" ? withQuery(to("q", name, "graph"), {}) : to("q", name, "t", node.id),
      "aria-label": `${title}, ${node.state}${needs.length ? `, waits for ${needs.join(", ")}` : ""}`,
    },
    s("rect", { x, y, width: SIZE.width, height: SIZE.height, rx: 7 }),
    s("circle", { class: "mark", cx: x + 16, cy: y + SIZE.height / 2, r: 4 }),
    s("text", { class: "title", x: x + 30, y: y + 19 }, clipped(title, 24)),
    s("text", { x: x + 30, y: y + 34 }, clipped(under, 27)),
  );
  for (const [on, off] of [
    ["pointerenter", "pointerleave"],
    ["focus", "blur"],
  ]) {
    link.addEventListener(on, () => light(node.id, true));
    link.addEventListener(off, () => light(node.id, false));
  }
  return link;
}

function clipped(text, most) {
  const whole = [...text];
  return whole.length > most ? `${whole.slice(0, most - 1).join("")}…` : text;
}
