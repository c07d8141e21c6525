// Places for the nodes of a graph: a column for each level, what is needed left of what waits for it.

const MOST_BENT = 150; // nodes; in a larger graph lines run straight

// columns: lists of nodes and bends; routes: for each line the ids that it runs through.
export function layered(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const level = new Map();
  for (const node of nodes) settle(node.id, byId, level);
  const columns = [];
  for (const node of nodes) (columns[level.get(node.id)] ??= []).push(node);
  const routes = nodes.flatMap((node) =>
    node.after.filter((other) => byId.has(other)).map((other) => [other, node.id]),
  );
  const bent = nodes.length <= MOST_BENT ? routes.map((route) => around(route, columns, level)) : routes;
  order(columns, bent);
  return { columns, routes: bent };
}

// The longest way to a node from one that waits for nothing. A circle is cut where it closes. No recursion: chains can
// be long.
function settle(start, byId, level) {
  const stack = [start];
  const open = new Set();
  while (stack.length) {
    const id = stack.at(-1);
    if (level.has(id)) {
      stack.pop();
      continue;
    }
    open.add(id);
    const needs = byId.get(id).after.filter((other) => byId.has(other));
    const missing = needs.filter((other) => !level.has(other) && !open.has(other));
    if (missing.length) {
      stack.push(...missing);
      continue;
    }
    level.set(id, Math.max(-1, ...needs.map((other) => level.get(other) ?? -1)) + 1);
    open.delete(id);
    stack.pop();
  }
}

// Where a line passes a column it has a place there, as a node has: so it runs past the others and not behind them.
function around([from, to], columns, level) {
  const route = [from];
  for (let at = level.get(from) + 1; at < level.get(to); at += 1) {
    const bend = { id: `${from} ${to} ${at}`, bend: true };
    columns[at].push(bend);
    route.push(bend.id);
  }
  return [...route, to];
}

// Each column by the middle of its neighbours, there and back, so that lines cross less.
function order(columns, routes) {
  const [before, after] = [new Map(), new Map()];
  for (const route of routes) {
    route.slice(1).forEach((id, number) => {
      before.set(id, [...(before.get(id) ?? []), route[number]]);
      after.set(route[number], [...(after.get(route[number]) ?? []), id]);
    });
  }
  const row = new Map();
  const place = (column) => column.forEach((node, number) => row.set(node.id, (number + 0.5) / column.length));
  columns.forEach(place);
  for (let round = 0; round < 6; round += 1) {
    const forth = round % 2 === 0;
    for (const column of forth ? columns : [...columns].reverse()) {
      const middle = new Map(
        column.map((node) => {
          const near = (forth ? before : after).get(node.id)?.map((id) => row.get(id)) ?? [row.get(node.id)];
          return [node.id, near.reduce((sum, one) => sum + one, 0) / near.length];
        }),
      );
      column.sort((a, b) => middle.get(a.id) - middle.get(b.id));
      place(column);
    }
  }
}

// What a node waits for and what waits for it, however far.
export function connected(nodes, id) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const waiting = new Map();
  for (const node of nodes)
    for (const other of node.after) waiting.set(other, [...(waiting.get(other) ?? []), node.id]);
  const found = new Set([id]);
  for (const next of [(one) => byId.get(one)?.after ?? [], (one) => waiting.get(one) ?? []]) {
    const open = [id];
    while (open.length)
      for (const other of next(open.pop()))
        if (!found.has(other)) {
          found.add(other);
          open.push(other);
        }
  }
  return nodes.filter((node) => found.has(node.id));
}
