// Elements from values. Everything that is shown goes in as text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  put(element, children);
  return element;
}

function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  put(element, children);
  return element;
}

// Rows keep their element, and so the focus, for as long as their key is there.
export function reconcile(parent, items, keyOf, make) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const first = known.size === 0;
  let before = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const said = JSON.stringify(item);
    let element = known.get(key);
    known.delete(key);
    if (!element || element.said !== said) {
      const made = make(item);
      made.dataset.key = key;
      made.said = said;
      if (element) replaced(element, made);
      else if (!first) made.classList.add("fresh");
      if (element && element === before) before = made;
      element = made;
    }
    if (element === before) before = before.nextElementSibling;
    else parent.insertBefore(element, before);
  }
  for (const gone of known.values()) gone.remove();
}

function replaced(old, made) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const place = focused ? [...old.querySelectorAll("a, button, input")].indexOf(focused) : -1;
  old.replaceWith(made);
  if (place >= 0) [...made.querySelectorAll("a, button, input")][place]?.focus({ preventScroll: true });
}
