// Run: the model under the rule and beside it without the rule; runs and their branches.

import { alertUser, announce, byId, element, percent, replace, visible } from "./elements.js";
import { events, post } from "./api.js";
import { showChoices } from "./choices.js";
import { ruleOf } from "./state.js";
import { Strip } from "./strip.js";

const MOST_RUNS = 12;
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class Runs {
  /**
   * `branch(ids)` is asked to run again with these first tokens, `follow(text, where)` to show the state after a text,
   * `point(marks)` to show positions in the rule, `failed(error)` to show an error.
   */
  constructor(state, branch, follow, point, failed) {
    this.state = state;
    this.follow = follow;
    this.point = point;
    this.failed = failed;
    this.branch = branch;
    this.runs = [];
    this.current = null;
    this.held = new Strip(byId("held"), (...look) => this.look(this.held, ...look));
    this.free = new Strip(byId("free"), (...look) => this.look(this.free, ...look));
    byId("choices").addEventListener("keydown", (event) => event.key === "Escape" && this.leaveChoices());
    for (const id of ["held", "free"]) byId(id).addEventListener("mouseleave", () => this.kept && this.open(...this.kept));
  }

  stop() {
    this.controller?.abort();
  }

  async start() {
    this.stop();
    const controller = (this.controller = new AbortController());
    const state = this.state();
    const run = { number: (this.runs.at(-1)?.number ?? 0) + 1, held: [], free: [], forced: state.forced.length, done: null,
      state: structuredClone(state) };
    this.runs = [...this.runs, run].slice(-MOST_RUNS);
    this.show(run);
    const result = byId("result");
    if (result.getBoundingClientRect().top > innerHeight * 0.7) result.scrollIntoView({ block: "start", behavior: still.matches ? "auto" : "smooth" });
    byId("run").disabled = true;
    byId("stop").hidden = false;
    alertUser("run", "");
    const { prompt, max_tokens, canonical, temperature, seed, forced } = state;
    const body = (run.body = { rule: ruleOf(state), prompt, max_tokens, canonical, temperature, seed });
    try {
      await Promise.all([
        this.read(run, "held", { ...body, forced, constrained: true }, controller.signal),
        this.read(run, "free", { ...body, forced: [], constrained: false }, controller.signal),
      ]);
      if (run.done) announce(`The run is finished. ${byId("headline").textContent}. The text is: ${run.done.text}`);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
      controller.abort();
      if (!this.held.tokens.length && this.current === run) this.drop(run);
    } finally {
      if (this.controller === controller) {
        byId("run").disabled = false;
        byId("stop").hidden = true;
      }
      this.list();
    }
  }

  /** Forget a run that wrote nothing. */
  drop(run) {
    this.runs = this.runs.filter((each) => each !== run);
    if (this.runs.length) {
      this.show(this.runs.at(-1));
      return;
    }
    this.current = null;
    byId("empty").hidden = false;
    byId("lanes").hidden = true;
    for (const id of ["headline", "summary"]) replace(byId(id));
  }

  async read(run, lane, body, signal) {
    for await (const event of events("run", body, signal)) {
      run[lane].push(event);
      if (this.current === run) this.take(lane, event);
      if (event.type === "done" && lane === "held") run.done = event;
    }
  }

  /** Show a run that has ended, or that goes on. */
  show(run) {
    this.current = run;
    this.kept = null;
    byId("empty").hidden = true;
    byId("lanes").hidden = false;
    this.held.clear();
    this.free.clear();
    this.compare(this.state());
    for (const id of ["held-note", "free-note", "headline", "summary", "choices-title"]) replace(byId(id));
    replace(byId("choices-body"), element("p", { class: "quiet" }, "Point at a token, or move to it with the keyboard, to see what else the model would have written."));
    for (const lane of ["held", "free"]) for (const event of run[lane]) this.take(lane, event);
    this.list();
  }

  take(lane, event) {
    this[lane].take(event);
    if (lane === "held" && event.type === "token" && event.position === 0 && !this.kept) this.open(this.held, this.held.tokens[0]);
    if (lane === "held") this.headline();
    if (event.type === "done") {
      const note = event.finish_reason === "length" ? "the budget decided the end" : "ended by itself";
      byId(`${lane}-note`).textContent = `${this[lane].path.length} token${this[lane].path.length === 1 ? "" : "s"}, ${note}${lane === "held" && event.report.canonical ? ", canonical" : ""}`;
    }
  }

  /** Say whether the run that is shown is one of another state. */
  compare(state) {
    const of = ({ test, forced, ...rest }) => JSON.stringify(rest);
    byId("stale").hidden = !this.current || of(this.current.state) === of(state);
  }

  headline() {
    const asked = this.held.path.filter((token) => !token.forced && token.nats !== null);
    const nats = asked.reduce((sum, token) => sum + token.nats, 0);
    replace(byId("headline"), "The rule cost ", element("strong", {}, `${nats.toFixed(2)} nats`), nats < 0.005 ? ": the model agrees with it" : "");
    const forced = this.held.path.length - asked.length;
    const gone = this.held.tokens.filter((token) => token.isGone).length;
    const mean = asked.length ? Math.exp(-nats / asked.length) : 1;
    byId("summary").textContent = [
      `Along this text the rule left ${power(nats)} of the model's probability, on average ${percent(mean)} at each of ${asked.length} choice${asked.length === 1 ? "" : "s"}`,
      forced ? `${forced} token${forced === 1 ? " was" : "s were"} forced` : "",
      gone ? `${gone} taken back` : "",
    ].filter(Boolean).join("; ") + ".";
  }

  /** Show a token's choices; keep them if it was clicked, and go to them if it was by keyboard. */
  look(strip, token, isKept, isByKeyboard = false) {
    if (isKept) this.kept = [strip, token];
    this.open(strip, token);
    if (strip === this.held && !token.isGone) this.follow(strip.text(token), `after token ${token.position + 1}`);
    if (isKept) byId("choices").scrollIntoView({ block: "nearest", behavior: still.matches ? "auto" : "smooth" });
    if (isByKeyboard) (byId("choices-body").querySelector("button") ?? byId("choices")).focus();
  }

  leaveChoices() {
    this.kept?.[1].button.focus();
  }

  open(strip, token) {
    for (const each of [this.held, this.free]) each.mark(each === strip ? token : null);
    const mayForce = strip === this.held && !token.isGone;
    const tokens = strip === this.held && !token.isGone ? strip.before(token) : null;
    this.asking?.abort(); // the server stops what nobody waits for
    this.asking = new AbortController();
    const { signal } = this.asking;
    const details = tokens && this.current ? (ids) => this.why(this.current.body, tokens, ids, signal) : null;
    this.point([]);
    showChoices(token, mayForce ? (id) => this.branch([...this.held.before(token), id], this.current.state) : null, details, this.point);
  }

  /** Return what refuses some tokens, by id; null if the server does not say. */
  async why({ rule, prompt, max_tokens, canonical }, tokens, refused, signal) {
    try {
      return await post("why", { rule, prompt, max_tokens, canonical, tokens, refused }, signal);
    } catch {
      return null;
    }
  }

  list() {
    byId("runs-box").hidden = this.runs.length < 2;
    replace(byId("runs"), ...this.runs.map((run) => {
      const tokens = run.held.filter((event) => event.type === "token");
      const text = run.done ? run.done.text : tokens.map((token) => token.text).join("");
      const mass = run.done?.report.log_mass;
      const cost = !run.done ? "stopped" : mass === null ? "no probability" : `${(-mass).toFixed(2)} nats`;
      return element("li", {}, element("button", { type: "button", "aria-current": run === this.current ? "true" : null, onclick: () => this.show(run) },
        element("span", {}, run.forced ? `${run.number}, branched at token ${run.forced}` : String(run.number)),
        element("span", { class: "mono" }, visible(text)), element("span", {}, cost)));
    }));
  }
}

/** Write e to the power of -nats: as a percentage, or as a power of ten. */
function power(nats) {
  const exponent = Math.floor(-nats / Math.LN10);
  if (exponent >= -4) return percent(Math.exp(-nats));
  return `${(10 ** (-nats / Math.LN10 - exponent)).toFixed(1)} × 10${raised(exponent)}`;
}

const raised = (exponent) => Array.from(String(exponent), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? "⁻").join("");
