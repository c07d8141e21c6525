// Pages are in the fragment of the address, which no server ever sees: #/q/NAME/t/ID?state=ready

export function parse(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function to(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function withQuery(path, query) {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) kept.set(name, value);
  const text = kept.toString();
  return text ? `${path}?${text}` : path;
}

export function go(hash) {
  location.hash = hash;
}

// The same page with another query: no entry in the history for every letter typed.
export function amend(hash) {
  history.replaceState(null, "", hash);
}
