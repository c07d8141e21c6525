// Everything about one task.

import { h, fill } from "./dom.js";
import { get } from "./api.js";
import { queues } from "./live.js";
import { to, withQuery } from "./router.js";
import { badge, facts, section, trouble, urlOf } from "./parts.js";
import { possible, take } from "./steps.js";
import { duration, named, setNow, shortId, stamp, time } from "./words.js";

const TONES = {
  completed: "completed",
  failed: "failed",
  died: "failed",
  "timed out": "failed",
  cancelled: "cancelled",
  released: "scheduled",
};

export function task(main, name, ref) {
  const page = h("div");
  fill(
    main,
    h("p", { class: "crumbs" }, h("a", { href: to("q", name), "data-up": true }, name), "/", h("span", {}, "task")),
    page,
  );
  let shown = "";
  let over = false;

  const load = async () => {
    try {
      const answer = await get("v1/dashboard/task", { queue: name, ref });
      if (over) return;
      setNow(answer.now);
      const { now: _, ...rest } = answer;
      const said = JSON.stringify(rest);
      if (said !== shown) redraw(answer);
      shown = said;
      document.title = `${named(answer.task)} · dibs`;
    } catch (error) {
      if (!over) fill(page, h("div", { class: "head" }, h("h1", { tabindex: "-1" }, ref)), trouble(error.message));
    }
  };

  const redraw = (found) => {
    const focused = page.contains(document.activeElement) ? document.activeElement.textContent : null;
    fill(page, drawn(found));
    if (focused)
      [...page.querySelectorAll("a, button, h1")]
        .find((one) => one.textContent === focused)
        ?.focus({ preventScroll: true });
  };

  const act = async (event, step, value) => {
    event.currentTarget.disabled = true;
    await take(step.name, name, value.task, value.body);
    shown = "";
    await load();
  };

  const actions = (one) =>
    possible(one, queues.get(name)?.capabilities).map((step) =>
      step.name === "priority"
        ? priority(one, step)
        : h(
            "button",
            {
              type: "button",
              class: step.danger ? "danger" : step.name === "retry" ? "primary" : null,
              onclick: (event) => act(event, step, { task: one }),
            },
            step.word,
          ),
    );

  const priority = (one, step) =>
    h(
      "select",
      {
        "aria-label": "Priority",
        onchange: (event) => act(event, step, { task: one, body: { priority: Number(event.target.value) } }),
      },
      [...new Set([0, 50, 100, 200, one.priority])]
        .sort((a, b) => a - b)
        .map((value) => h("option", { value, selected: value === one.priority }, `priority ${value}`)),
    );

  const drawn = (found) => {
    const { task: one, claim } = found;
    return [
      h(
        "div",
        { class: "head" },
        h("h1", { tabindex: "-1" }, found.title || (one.key ?? shortId(one.id))),
        badge(one.state),
        h("div", { class: "actions" }, actions(one)),
      ),
      h(
        "div",
        { class: "columns" },
        h(
          "div",
          { class: "stack" },
          h("p", { class: `card why ${one.state}` }, found.why),
          found.error &&
            !found.history.some((event) => event.error === found.error) &&
            section("Error", h("pre", { class: "bad", tabindex: "0" }, found.error)),
          section("Payload", text(found.payload, one)),
          found.result && section("Result", text(found.result, one)),
          section("History", history(found)),
        ),
        h(
          "div",
          { class: "stack" },
          claim && section("Held", lease(claim)),
          section("Task", about(found)),
          (one.after.length > 0 || found.waits_for.length > 0) &&
            section("Waits for", h("div", { class: "body" }, waits(found))),
        ),
      ),
    ];
  };

  const text = ({ text: shownText, cut }, one) => [
    h("pre", { tabindex: "0" }, shownText),
    cut &&
      h(
        "p",
        { class: "body soft" },
        "Only the beginning is shown; all of it: ",
        h("code", {}, `dibs show ${urlOf(name)} ${one.id} --json`),
      ),
  ];

  const lease = (claim) => [
    facts(
      ["Worker", claim.worker],
      ["Host", claim.host + (claim.pid ? `, pid ${claim.pid}` : "")],
      ["For", time(claim.claimed_at, "for")],
      ["Heartbeat", time(claim.heartbeat_at)],
      ["Expires", time(claim.expires_at, "in")],
      ["Epoch", claim.epoch],
    ),
  ];

  const about = ({ task: one, due, ended_at: ended }) => [
    h("p", { class: "mono id" }, one.id),
    facts(
      one.key !== one.id && ["Key", one.key],
      ["Priority", one.priority],
      ["Project", one.project],
      one.labels.length > 0 && ["Labels", one.labels.join(", ")],
      one.pushed_at > 0 && ["Pushed", time(one.pushed_at)],
      due && ["Starts", time(due, "in")],
      ended && ["Ended", time(ended)],
      ["Attempts", `${one.attempts} of ${one.max_attempts}`],
      ["Deaths", `${one.deaths} of ${one.max_deaths}`],
      ["Leases so far", one.epoch],
      one.max_runtime && ["Longest run", duration(one.max_runtime)],
    ),
  ];

  const waits = ({ waits_for: open, task: one }) => [
    h(
      "ul",
      { class: "linked" },
      open.map(({ ref: other, state }) =>
        h("li", {}, h("a", { href: to("q", name, "t", other) }, other), badge(state)),
      ),
    ),
    h("p", {}, h("a", { href: withQuery(to("q", name, "graph"), { ref: one.id }) }, "Show the graph")),
  ];

  const history = ({ history: events, task: one }) => {
    const all = [...events]
      .reverse()
      .map((event) =>
        h(
          "li",
          { class: TONES[event.what] ?? "unknown" },
          h(
            "div",
            {},
            `Lease ${event.epoch} `,
            h("strong", {}, event.what),
            h("span", { class: "soft" }, ` by ${event.worker}`),
          ),
          h("span", { class: "soft", title: stamp(event.at) }, time(event.at)),
          event.error && h("pre", { tabindex: "0" }, event.error),
        ),
      );
    const began =
      one.pushed_at > 0 &&
      h("li", { class: "ready" }, h("div", {}, "Pushed"), h("span", { class: "soft" }, time(one.pushed_at)));
    return h(
      "ol",
      { class: "history" },
      all,
      began || (!all.length && h("li", {}, h("span", { class: "soft" }, "No lease has ended yet."))),
    );
  };

  load();
  return {
    title: ref,
    news: (changed, fresh) => {
      if (changed === name && fresh) load();
    },
    stop: () => {
      over = true;
    },
  };
}
