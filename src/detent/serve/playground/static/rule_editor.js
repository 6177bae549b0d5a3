// RuleEditor: the parts of a rule, the operators between them, and the mark of an error.

import { element, replace } from "./elements.js";
import { KINDS, OPERATORS } from "./state.js";

export class RuleEditor {
  /** `changed` is called after each change of `parts`. */
  constructor(root, expression, changed) {
    this.root = root;
    this.expression = expression;
    this.changed = changed;
    this.parts = [];
  }

  show(parts) {
    this.parts = parts;
    this.error = null;
    replace(this.root, ...parts.map((part, index) => this.row(part, index)));
    this.showExpression();
  }

  add() {
    this.parts.push({ kind: "regex", source: "", operator: this.parts.length ? "&" : "|", negated: false });
    this.show(this.parts);
    this.root.lastElementChild.querySelector("textarea").focus();
    this.changed();
  }

  row(part, index) {
    const many = this.parts.length > 1;
    const label = many ? `Part ${index + 1}` : "The rule";
    const id = `part-${index}`;
    const kinds = element("select", { "aria-label": `${label}: notation`, onchange: (event) => {
      part.kind = event.target.value;
      source.placeholder = KINDS[part.kind].hint;
      this.edited();
    } }, ...Object.entries(KINDS).map(([kind, { name }]) => element("option", { value: kind, selected: kind === part.kind }, name)));
    const operators = index === 0 ? null : element("select", { class: "operator", "aria-label": `${label}: how it joins the parts before`, onchange: (event) => {
      part.operator = event.target.value;
      this.edited();
    } }, ...Object.entries(OPERATORS).map(([sign, name]) => element("option", { value: sign, selected: sign === part.operator }, `${sign}  ${name}`)));
    const not = element("label", { class: "inline", title: "All texts that are not of this part" },
      element("input", { type: "checkbox", "aria-label": `${label}: not (~)`, onchange: (event) => {
        part.negated = event.target.checked;
        this.edited();
      } }), "~ not");
    not.firstChild.checked = part.negated;
    const remove = element("button", { type: "button", class: "small remove", "aria-label": `Remove ${label.toLowerCase()}`, onclick: () => {
      this.parts.splice(index, 1);
      this.show(this.parts);
      (this.root.querySelector("textarea") ?? document.getElementById("add-part")).focus();
      this.changed();
    } }, "Remove");
    const mirror = element("div", { class: "mirror", "aria-hidden": "true" });
    const problem = element("p", { class: "problem", id: `${id}-problem`, hidden: true });
    const source = element("textarea", { id, "aria-label": `${label}: text`, "aria-describedby": `${id}-problem`, rows: "1",
      spellcheck: "false", autocapitalize: "off", autocomplete: "off", placeholder: KINDS[part.kind].hint, oninput: () => {
        part.source = source.value;
        this.unmark(row);
        this.edited();
      } });
    source.value = part.source;
    source.addEventListener("scroll", () => {
      mirror.scrollTop = source.scrollTop;
    });
    const row = element("fieldset", { class: "part" }, element("legend", { class: "hidden" }, label),
      element("div", { class: "part-head" }, operators, kinds, not, remove),
      element("div", { class: "editor" }, mirror, source), problem);
    this.unmark(row);
    return row;
  }

  edited() {
    this.showExpression();
    this.changed();
  }

  showExpression() {
    const names = this.parts.map((part, index) => (part.negated ? "~" : "") + "ABCDEFGH"[index]);
    const whole = names.reduce((left, right, index) => (index === 0 ? right : `${index > 1 ? `(${left})` : left} ${this.parts[index].operator} ${right}`), "");
    this.expression.textContent = this.parts.length > 1 ? whole : this.parts.length ? "" : "any text";
  }

  /** Show the error of a part, with its position underlined; null: no part has an error. */
  mark(error) {
    for (const row of this.root.children) this.unmark(row);
    if (!error || error.part === null || error.part === undefined) return;
    const row = this.root.children[error.part];
    if (!row) return;
    const source = row.querySelector("textarea");
    source.setAttribute("aria-invalid", "true");
    const problem = row.querySelector(".problem");
    problem.hidden = false;
    problem.textContent = error.message;
    if (error.position !== null && error.position !== undefined) {
      const characters = Array.from(source.value);
      const at = Math.min(error.position, characters.length);
      const marked = characters.slice(at, markEnd(characters, at)).join("") || " ";
      replace(row.querySelector(".mirror"), characters.slice(0, at).join(""), element("mark", {}, marked === "\n" ? " \n" : marked),
        characters.slice(markEnd(characters, at)).join("") + "\n");
      reveal(row);
    }
  }

  /** Show positions in the parts: what refuses a token. An error stays as it is. */
  point(marks) {
    [...this.root.children].forEach((row, index) => {
      const source = row.querySelector("textarea");
      if (source.hasAttribute("aria-invalid")) return;
      const characters = Array.from(source.value);
      const pieces = [];
      let at = 0;
      for (const { start, end } of marks.filter((mark) => mark.part === index).sort((a, b) => a.start - b.start)) {
        if (start < at) continue;
        pieces.push(characters.slice(at, start).join(""), element("mark", { class: "refusing" }, characters.slice(start, end).join("")));
        at = end;
      }
      replace(row.querySelector(".mirror"), ...pieces, characters.slice(at).join("") + "\n");
      if (at) reveal(row);
    });
  }

  unmark(row) {
    const source = row.querySelector("textarea");
    source.removeAttribute("aria-invalid");
    row.querySelector(".problem").hidden = true;
    row.querySelector(".problem").textContent = "";
    replace(row.querySelector(".mirror"), source.value + "\n");
    row.querySelector(".mirror").scrollTop = source.scrollTop;
  }
}

/** Scroll a long source to its first mark, unless the user is writing in it. */
function reveal(row) {
  const source = row.querySelector("textarea");
  const mirror = row.querySelector(".mirror");
  const mark = mirror.querySelector("mark");
  if (document.activeElement !== source && mirror.scrollHeight > mirror.clientHeight) {
    source.scrollTop = mark.offsetTop - mirror.clientHeight / 2;
  }
  mirror.scrollTop = source.scrollTop;
}

/** Return where the underlined word or string ends. */
function markEnd(characters, at) {
  if (characters[at] === '"') {
    let end = at + 1;
    while (end < characters.length && characters[end] !== '"' && characters[end] !== "\n") end += characters[end] === "\\" ? 2 : 1;
    return Math.min(end + 1, characters.length);
  }
  let end = at;
  while (end < characters.length && /\w/.test(characters[end])) end += 1;
  return Math.max(end, at + 1);
}
