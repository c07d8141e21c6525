// Everything that is asked of the daemon. The token lives in this tab only, and goes nowhere but into a header.

const KEPT = "dibs-token";
const base = new URL(".", document.baseURI);
let token = sessionStorage.getItem(KEPT) ?? "";

export class Refused extends Error {
  constructor(status, kind, message) {
    super(message);
    this.status = status;
    this.kind = kind;
  }
}

// A token that came in the address: taken, and out of sight at once.
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given === null || location.hash.startsWith("#/")) return;
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
  keepToken(given);
}

export function keepToken(given) {
  token = given.trim();
  if (token) sessionStorage.setItem(KEPT, token);
  else sessionStorage.removeItem(KEPT);
}

export function hasToken() {
  return token !== "";
}

export function get(path, query = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") url.searchParams.append(name, one);
    }
  }
  return answered(url, {});
}

export function post(path, body = {}) {
  const headers = { "Content-Type": "application/json", "Idempotency-Key": nonce() };
  return answered(new URL(path, base), { method: "POST", headers, body: JSON.stringify(body) });
}

export function queuePath(name, ...parts) {
  return ["v1/queues", name, ...parts].map((part, place) => (place ? encodeURIComponent(part) : part)).join("/");
}

export function stream(path, signal) {
  return asked(new URL(path, base), { signal, headers: { Accept: "text/event-stream" } });
}

async function answered(url, options) {
  return (await asked(url, options)).json();
}

async function asked(url, options) {
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let answer;
  try {
    answer = await fetch(url, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "unreachable", "the daemon does not answer; is `dibs serve` running?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Refused(
    answer.status,
    said.error?.kind ?? "",
    said.error?.message ?? `the daemon answered ${answer.status}`,
  );
}

function nonce() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
