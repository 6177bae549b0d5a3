// Walk: a text read step by step: its characters, the states between them, and where it leaves the rule.

import { byId, element, replace, visible } from "./elements.js";

const PACE = 750;
const MOST_UNREAD = 60;

export class Walk {
  constructor(automaton) {
    this.automaton = automaton;
    this.steps = [];
    this.at = 0;
    byId("first").onclick = () => this.go(0);
    byId("back").onclick = () => this.go(this.at - 1);
    byId("next").onclick = () => this.go(this.at + 1, true);
    byId("play").onclick = () => (this.timer ? this.pause() : this.play());
  }

  clear() {
    this.pause();
    this.steps = [];
    replace(byId("tape"));
    for (const id of ["position", "verdict", "mismatch"]) byId(id).textContent = "";
    byId("mismatch").hidden = true;
    this.automaton.at(null, null);
  }

  /** Show how the server read a text. */
  show(text, { steps, accepted, reason }) {
    this.pause();
    this.steps = steps;
    const unread = Array.from(text).slice(steps.length - 1);
    const unseen = Math.max(unread.length - MOST_UNREAD, 0);
    this.cells = [];
    this.states = [];
    const items = steps.map((step, index) => {
      const cell = index === 0 ? null : element("span", { class: "cell" }, visible(step.text));
      const state = step.is_live && (step.state !== null || step.accepting) ? element("span", { class: `state${step.accepting ? " ending" : ""}`, title: step.accepting ? "the text may end here" : null },
        step.state === null ? "" : String(step.state)) : null;
      this.cells.push(cell);
      this.states.push(state);
      return element("li", {}, cell, state);
    });
    replace(byId("tape"), ...items, ...unread.slice(0, MOST_UNREAD).map((character) => element("li", {}, element("span", { class: "cell unread" }, visible(character)))),
      unseen ? element("li", { class: "quiet" }, `… ${unseen} more`) : null);
    const verdict = byId("verdict");
    const isOpen = !accepted && steps.at(-1).is_live;
    verdict.textContent = accepted ? "✓ in the language" : isOpen ? (text === "" ? "" : "… not complete") : "✗ not in the language";
    verdict.className = `verdict ${accepted ? "good" : isOpen ? "open" : "bad"}`;
    const mismatch = byId("mismatch");
    const isShown = reason && text !== "";
    mismatch.hidden = !isShown;
    mismatch.textContent = isShown ? sentence(text, reason) : "";
    this.go(steps.length - 1);
  }

  /** Show no state: the automaton shows that of another text. */
  unmark() {
    this.pause();
    for (const state of this.states ?? []) state?.classList.remove("now");
  }

  go(index, move = false) {
    if (!this.steps.length) return;
    this.at = Math.max(0, Math.min(index, this.steps.length - 1));
    if (this.at === this.steps.length - 1) this.pause();
    const step = this.steps[this.at];
    this.cells.forEach((cell, position) => {
      if (!cell) return;
      cell.classList.toggle("read", position <= this.at && this.steps[position].is_live);
      cell.classList.toggle("wrong", position <= this.at && !this.steps[position].is_live);
    });
    this.states.forEach((state, position) => state?.classList.toggle("now", position === this.at));
    const before = this.at > 0 ? this.steps[this.at - 1].state : null;
    this.automaton.at(step.state, before, move);
    const where = this.at === 0 ? "Before the text" : `After ${this.at} character${this.at === 1 ? "" : "s"}`;
    const state = step.state === null ? "" : `, state ${step.state}`;
    const rest = step.rest ? `  Still to come: ${step.rest}` : "";
    byId("position").textContent = step.is_live ? `${where}${state}: ${step.expected || "nothing"} may follow.${rest}` : `${where}: no text of the rule begins so.`;
    byId("back").disabled = byId("first").disabled = this.at === 0;
    byId("next").disabled = this.at === this.steps.length - 1;
  }

  play() {
    if (this.at === this.steps.length - 1) this.go(0);
    this.timer = setInterval(() => this.go(this.at + 1, true), PACE);
    byId("play").textContent = "Pause";
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    byId("play").textContent = "Play";
  }
}

function sentence(text, { position, expected, example, part, hint, by }) {
  const characters = Array.from(text);
  const found = position < characters.length ? `Character ${position + 1} is “${visible(characters[position])}”`
    : `The text ends after ${position === 1 ? "1 character" : `${position} characters`}`;
  const where = part ? `, in ${part}` : "";
  const fits = example === null ? "" : ` For example: ${example === "" ? "the empty text" : visible(example)}`;
  const refusing = by ? ` Refused by ${by}.` : "";
  return `${found}, where ${expected} is expected${where}.${refusing}${fits}${hint ? ` ${hint}` : ""}`;
}
