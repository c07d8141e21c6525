// From the address to a page, and from news to the page that is shown.

import { get, post, takeToken } from "./api.js";
import { begin, end, listen, note, queues } from "./live.js";
import { parse } from "./router.js";
import { drawShell, updateShell } from "./shell.js";
import { signIn } from "./signin.js";
import { listenToKeys } from "./keys.js";
import { rights } from "./steps.js";
import { tick } from "./words.js";
import { fill, h } from "./dom.js";
import { empty, trouble } from "./parts.js";
import { overview } from "./overview.js";
import { tasks } from "./tasks.js";
import { task } from "./task.js";
import { workers } from "./workers.js";
import { charts } from "./charts.js";
import { graph } from "./graph.js";

const main = document.getElementById("main");
const PAGES = { workers, charts, graph };
const OFTEN = 1000; // at most so often is a page loaded again
let view = { stop() {}, news() {} };
let known = new Map(); // name -> the version that the page has seen
let signedIn = false;

function show(first = false) {
  view.stop?.();
  const {
    parts: [kind, name, page, ref],
    query,
  } = parse();
  const there = queues.has(name);
  if (kind !== "q") view = overview(main);
  else if (!there) view = missing(name);
  else if (page === "t" && ref) view = task(main, name, ref);
  else view = (PAGES[page] ?? tasks)(main, name, query);
  document.title = view.title === "Queues" ? "dibs" : `${view.title} · dibs`;
  updateShell();
  if (first) return;
  window.scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

function missing(name) {
  fill(
    main,
    h("div", { class: "head" }, h("h1", { tabindex: "-1" }, name)),
    h("div", { class: "card" }, empty("This queue is not served here.", null, `dibs serve ${name}`)),
  );
  return { title: "no such queue" };
}

const waiting = new Map();
function news(name) {
  updateShell();
  if (name === null) return;
  const { version } = queues.get(name);
  view.news?.(name, false);
  if (known.get(name) === version || waiting.has(name)) return;
  waiting.set(
    name,
    setTimeout(() => waiting.delete(name) && news(name), OFTEN),
  );
  known.set(name, version);
  view.news?.(name, true);
}

async function start() {
  try {
    const { version, queues: found } = await get("v1/dashboard");
    rights.write = await post("v1/dashboard/may-write").then(
      () => true,
      () => false,
    );
    found.forEach(note);
    known = new Map(found.map((queue) => [queue.name, queue.version]));
    signedIn = true;
    drawShell(`dibs ${version}`);
    show(true);
    begin(refused);
  } catch (error) {
    refused(error);
  }
}

function refused(error) {
  signedIn = false;
  end();
  if (error.status !== 401) fill(main, trouble(error.message));
  else signIn(main, sessionStorage.getItem("dibs-token") ? "That token is not right." : null, start);
}

takeToken();
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment says which page it is
  main.focus();
});
addEventListener("hashchange", () => {
  takeToken();
  if (signedIn) show();
  else start();
});
listen(news);
listenToKeys();
setInterval(tick, 1000);
start();
