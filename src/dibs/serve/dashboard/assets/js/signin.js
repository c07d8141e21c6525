// Asked for once a tab: the token.

import { h, fill } from "./dom.js";
import { keepToken } from "./api.js";

export function signIn(main, problem, entered) {
  const input = h("input", {
    type: "password",
    id: "token",
    name: "token",
    autocomplete: "off",
    required: true,
    spellcheck: "false",
  });
  const submit = (event) => {
    event.preventDefault();
    keepToken(input.value);
    entered();
  };
  fill(
    main,
    h(
      "section",
      { class: "card signin" },
      h("img", { src: "assets/icon.svg", alt: "" }),
      h("h1", {}, "Token of this daemon"),
      h(
        "p",
        { class: "soft" },
        "It is in the file that ",
        h("code", {}, "dibs serve"),
        " named when it started; the line that begins with ",
        h("code", {}, "read"),
        " holds one that may only look. ",
        h("code", {}, "dibs dashboard"),
        " opens this page with it.",
      ),
      h(
        "form",
        { onsubmit: submit },
        problem && h("p", { class: "trouble", role: "alert" }, problem),
        h("label", { for: "token", class: "hidden-text" }, "Token"),
        input,
        h("button", { class: "primary" }, "Continue"),
      ),
    ),
  );
  input.focus();
}
