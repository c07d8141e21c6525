// Rows of tasks, and what can be done with several of them at once.

import { h, fill, reconcile } from "./dom.js";
import { to } from "./router.js";
import { queues } from "./live.js";
import { badge } from "./parts.js";
import { possible, rights, takeMany } from "./steps.js";
import { named, plural, shortId, time } from "./words.js";

const LAST = { claimed: "Held for", scheduled: "Starts", all: "Pushed" };

export function taskTable(name, changed) {
  const head = h("tr");
  const body = h("tbody");
  const bulk = h("div");
  const element = h(
    "div",
    {},
    bulk,
    h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "tasks" },
        h("caption", { class: "hidden-text" }, `Tasks of ${name}`),
        h("thead", {}, head),
        body,
      ),
    ),
  );
  const picked = new Map();
  let rows = [];
  let state = "";

  const drawBulk = () => {
    const able = queues.get(name)?.capabilities;
    const chosen = [...picked.values()];
    const steps = chosen.length
      ? possible(chosen[0], able).filter(
          (step) => step.name !== "priority" && chosen.every((task) => step.fits(task, able ?? {})),
        )
      : [];
    fill(
      bulk,
      chosen.length > 0 &&
        h(
          "div",
          { class: "bulk" },
          h("span", { role: "status" }, `${plural(chosen.length, "task")} chosen`),
          steps.map((step) =>
            h(
              "button",
              { type: "button", class: step.danger ? "danger" : null, onclick: () => act(step.name) },
              step.word,
            ),
          ),
          h("button", { type: "button", class: "plain", onclick: clear }, "Clear"),
        ),
    );
  };

  const clear = () => {
    picked.clear();
    for (const box of element.querySelectorAll("input[type=checkbox]")) box.checked = false;
    drawBulk();
  };

  const act = async (step) => {
    if (!(await takeMany(step, name, [...picked.values()]))) return;
    clear();
    changed();
  };

  const pick = (task, on) => {
    if (on) picked.set(task.id, task);
    else picked.delete(task.id);
    drawBulk();
  };

  const row = (task) => {
    const box = h("input", {
      type: "checkbox",
      checked: picked.has(task.id),
      "aria-label": `Choose ${named(task)}`,
      onchange: (event) => pick(task, event.target.checked),
    });
    const under = [
      state === "all" && badge(task.state),
      h("span", { class: "mono" }, task.key && task.key !== task.text ? task.key : shortId(task.id)),
      state === "claimed" && task.claim && h("span", { class: "narrow" }, `by ${task.claim.worker}`),
      task.project && h("span", { class: "chip project" }, task.project),
      task.labels.map((label) => h("span", { class: "chip" }, label)),
    ];
    const tries =
      task.attempts || task.deaths
        ? `${task.attempts} of ${task.max_attempts}${task.deaths ? `, ${plural(task.deaths, "death")}` : ""}`
        : "";
    return h(
      "tr",
      {},
      rights.write && h("td", { class: "pick" }, box),
      h(
        "td",
        { class: "main" },
        h("a", { class: "line whole", href: to("q", name, "t", task.id), "data-row": true }, task.text || named(task)),
        h("div", { class: "under" }, under),
      ),
      state === "claimed" &&
        h(
          "td",
          { class: "wide" },
          task.claim
            ? [
                h("div", {}, task.claim.worker),
                h("div", { class: "under" }, "heartbeat ", time(task.claim.heartbeat_at)),
              ]
            : "–",
        ),
      state !== "claimed" && h("td", { class: `number wide ${task.priority === 50 ? "soft" : ""}` }, task.priority),
      h("td", { class: `number wide ${tries ? "" : "soft"}` }, tries || "–"),
      h("td", { class: "number" }, when(task)),
    );
  };

  const ended = () => rows.some((task) => task.ended_at); // not known of queues where each look is paid for

  const when = (task) => {
    if (state === "claimed" && task.claim) return time(task.claim.claimed_at, "for");
    if (state === "scheduled" && task.not_before) return time(task.not_before, "in");
    if (ended()) return task.ended_at ? time(task.ended_at) : "–";
    return task.pushed_at ? time(task.pushed_at) : "–";
  };

  return {
    element,
    chosen: () => picked.size > 0,
    focusFirst: () => body.querySelector("[data-row]")?.focus(),
    show(tasks, shownState, turned) {
      if (shownState !== state || turned) clear();
      if (shownState !== state) fill(body);
      state = shownState;
      rows = tasks;
      fill(
        head,
        rights.write && h("td", { class: "pick" }),
        h("th", { scope: "col" }, "Task"),
        state === "claimed"
          ? h("th", { scope: "col", class: "wide" }, "Worker")
          : h("th", { scope: "col", class: "number wide" }, "Priority"),
        h("th", { scope: "col", class: "number wide" }, "Attempts"),
        h("th", { scope: "col", class: "number" }, LAST[state] ?? (ended() ? "Ended" : "Pushed")),
      );
      if (turned) fill(body);
      reconcile(body, rows, (task) => task.id, row);
    },
  };
}
