// The tasks of a queue: by state, filtered, searched, a page at a time as the server gives them.

import { h, fill } from "./dom.js";
import { get } from "./api.js";
import { queues } from "./live.js";
import { amend, to, withQuery } from "./router.js";
import { queueHead } from "./queue.js";
import { STATES, empty, nobodyWorks, trouble, urlOf } from "./parts.js";
import { taskTable } from "./tasktable.js";
import { count, plural, setNow, short } from "./words.js";

export function tasks(main, name, query) {
  const asked = {
    state: query.get("state") ?? "ready",
    project: query.get("project") ?? "",
    label: query.get("label") ?? "",
    text: query.get("text") ?? "",
  };
  const head = queueHead(name, "");
  const states = h("nav", { class: "states", "aria-label": "States" });
  const filters = h("div", { class: "filters" });
  const table = taskTable(name, () => load(0));
  const said = h("span", { class: "said", role: "status" });
  const previous = h("button", { type: "button", "data-previous": true, onclick: () => turn(-1) }, "Previous");
  const next = h("button", { type: "button", "data-next": true, onclick: () => turn(1) }, "Next");
  const pager = h("div", { class: "pager" }, said, previous, next);
  const wrong = h("div");
  const card = h("div", { class: "card", hidden: true }, table.element, pager);
  fill(main, head.elements, states, filters, wrong, card);

  let pages = []; // what was seen: going back asks for nothing
  let page = 0;
  let turnNumber = 0;
  let going = 0; // the page that is being asked for
  let choices = "";

  const drawStates = () => {
    const counts = queues.get(name)?.stats?.states ?? {};
    const offered = ["", ...STATES].filter(
      (state) => state !== "cancelled" || counts.cancelled || asked.state === state,
    );
    const total = queues.get(name)?.stats?.total;
    const items = offered.map((state) => {
      const number = state ? counts[state] : total;
      return h(
        "a",
        {
          href: withQuery(to("q", name), { ...asked, state: state || "all" }),
          "aria-current": (state || "all") === asked.state ? "page" : null,
          "data-state": state || "all",
        },
        state ? h("span", { class: `state ${state}` }, state) : "all",
        number !== undefined && h("span", { class: "count", title: count(number) }, short(number)),
      );
    });
    const focused = states.contains(document.activeElement) ? document.activeElement.dataset.state : null;
    fill(states, items);
    if (focused) states.querySelector(`[data-state="${focused}"]`)?.focus();
  };

  const drawFilters = () => {
    const stats = queues.get(name)?.stats;
    const found = [stats?.projects ?? [], stats?.labels ?? []];
    if (JSON.stringify(found) === choices) return;
    choices = JSON.stringify(found);
    const kept = filters.querySelector("[data-search]");
    const typed = kept?.value ?? asked.text;
    const focused = kept && document.activeElement === kept;
    const search = h("input", {
      type: "search",
      "data-search": true,
      placeholder: "Search key, id or payload",
      "aria-label": "Search tasks",
      value: typed,
      oninput: searched,
    });
    fill(
      filters,
      h("span", { class: "search" }, search, h("kbd", { "aria-hidden": "true" }, "/")),
      choice("project", "All projects", found[0]),
      choice("label", "All labels", found[1]),
    );
    if (focused) search.focus();
  };

  const choice = (field, all, offered) => {
    if (!offered.length && !asked[field]) return null;
    const options = [...new Set([...offered, ...(asked[field] ? [asked[field]] : [])])];
    return h(
      "select",
      { "aria-label": `Filter by ${field}`, onchange: (event) => changed({ [field]: event.target.value }) },
      h("option", { value: "" }, all),
      options.map((one) => h("option", { value: one, selected: one === asked[field] }, one)),
    );
  };

  let typing;
  const searched = (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => changed({ text: event.target.value }), 250);
  };

  const changed = (more) => {
    Object.assign(asked, more);
    amend(withQuery(to("q", name), asked));
    drawStates();
    load(0);
  };

  const load = async (wanted) => {
    const mine = ++turnNumber;
    going = wanted;
    const { state, ...rest } = asked;
    try {
      const more = wanted > 0 ? { next: pages[wanted - 1].next } : {};
      const answer = await get("v1/dashboard/tasks", {
        queue: name,
        ...rest,
        ...more,
        state: state === "all" ? "" : state,
      });
      if (mine !== turnNumber) return;
      setNow(answer.now);
      pages = [...pages.slice(0, wanted), answer];
      fill(wrong);
      show(wanted);
    } catch (error) {
      if (mine !== turnNumber) return;
      fill(wrong, trouble(error.message));
      if (error.kind === "bad-input" && wanted === 0) card.hidden = true; // what is shown was not asked for
    } finally {
      if (mine === turnNumber) going = 0;
    }
  };

  const turn = (by) => {
    const wanted = page + by;
    if (wanted < 0) return;
    if (pages[wanted] && wanted > 0) show(wanted);
    else load(wanted);
  };

  const show = (wanted) => {
    const turned = wanted !== page;
    page = wanted;
    card.hidden = false;
    const { tasks: found, next: more, cut, found: matches } = pages[page];
    table.show(found, asked.state, turned);
    const before = pages.slice(0, page).reduce((total, one) => total + one.tasks.length, 0);
    const filtered = asked.project || asked.label || asked.text;
    const stats = queues.get(name)?.stats;
    const total = filtered ? matches : asked.state === "all" ? stats?.total : stats?.states[asked.state];
    if (!found.length && page === 0) fill(card, cut ? unread(pages[page].read) : nothing());
    else if (!card.contains(pager)) fill(card, table.element, pager);
    const last = before + found.length;
    const rest = cut ? "; there may be more: make the search narrower" : total > last ? ` of ${count(total)}` : "";
    said.textContent = `${count(before + 1)}–${count(last)}${rest}`;
    previous.disabled = page === 0;
    next.disabled = !more;
    previous.hidden = next.hidden = page === 0 && !more;
    if (turned) table.focusFirst();
  };

  const unread = (read) =>
    empty(
      `No match in the first ${count(read)} tasks.`,
      "Not all of them were read. Search for a whole word, or choose a state, project or label.",
    );

  const nothing = () => {
    if (asked.text || asked.project || asked.label)
      return empty("No task matches.", "Change the search or the filters, or look at another state.");
    if (asked.state === "claimed") return nobodyWorks(name, pages[page].waiting);
    const command = `dibs push ${urlOf(name)} '{"url": "https://example.com"}'`;
    const words = {
      ready: ["Nothing is ready.", "A task that is pushed appears here.", command],
      all: ["The queue is empty.", "Push a task:", command],
      failed: ["Nothing has failed.", "What runs out of attempts stays here until it is retried."],
      scheduled: ["Nothing waits for its time.", "Delayed tasks and retries wait here.", `${command} --delay 5m`],
      blocked: ["Nothing waits for other tasks.", null, `${command} --after KEY`],
      completed: ["Nothing is completed yet.", "Start a worker:", `dibs work ${urlOf(name)} -- ./job {}`],
      cancelled: ["Nothing was cancelled."],
    };
    return empty(...(words[asked.state] ?? ["There is nothing here."]));
  };

  drawStates();
  drawFilters();
  load(0);
  return {
    title: `${name}: ${plural(queues.get(name)?.stats?.states.ready ?? 0, "task")} ready`,
    news: (changedQueue, fresh) => {
      if (changedQueue !== name) return;
      head.draw();
      drawStates();
      drawFilters();
      if (fresh && page === 0 && going === 0 && !table.chosen()) load(0); // who turns the page is not called back
    },
    stop: () => {
      turnNumber += 1;
      clearTimeout(typing);
    },
  };
}
