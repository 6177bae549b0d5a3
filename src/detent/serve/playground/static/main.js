// The page: connects what the user types with what the server answers.

import { askForKey, debounced, get, post } from "./api.js";
import { Automaton } from "./automaton.js";
import { alertUser, announce, byId, element, replace, visible } from "./elements.js";
import { EXAMPLES } from "./examples.js";
import { RuleEditor } from "./rule_editor.js";
import { Runs } from "./run.js";
import { checkedState, initialState, linkOf, ruleOf, stateOfLink } from "./state.js";
import { Walk } from "./walk.js";

let state = initialState();

const editor = new RuleEditor(byId("parts"), byId("expression"), ruleChanged);
const automaton = new Automaton(byId("drawing"), byId("table"), byId("states"));
const walk = new Walk(automaton);
const runs = new Runs(() => state, (ids, from) => {
  show({ ...structuredClone(from), test: state.test, forced: ids });
  askMeaning();
  runs.start();
}, (text, where) => {
  if (automaton.follow(text, where)) walk.unmark();
}, (marks) => editor.point(marks), (error) => failed("run", error));

// What the user changes

const FIELDS = {
  "ban-words": (input) => (state.ban.words = input.value),
  "ban-mode": (input) => (state.ban.mode = input.value),
  "ban-case": (input) => (state.ban.ignore_case = input.checked),
  "ban-whole": (input) => (state.ban.whole_words = input.checked),
  prompt: (input) => (state.prompt = input.value),
  "max-tokens": (input) => input.checkValidity() && input.value && (state.max_tokens = Number(input.value)),
  temperature: (input) => input.checkValidity() && input.value && (state.temperature = Number(input.value)),
  seed: (input) => input.checkValidity() && input.value && (state.seed = Number(input.value)),
  canonical: (input) => (state.canonical = input.checked),
};
for (const [id, take] of Object.entries(FIELDS)) {
  byId(id).addEventListener("input", (event) => {
    take(event.target);
    if (id.startsWith("ban-")) ruleChanged();
    else {
      state.forced = [];
      changed();
    }
  });
}
byId("test").addEventListener("input", (event) => {
  state.test = event.target.value;
  changed();
  askWalk();
});
byId("add-part").onclick = () => editor.add();
byId("run").onclick = () => runs.start();
byId("stop").onclick = () => runs.stop();
byId("unbranch").onclick = () => {
  state.forced = [];
  changed();
  runs.start();
};
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !byId("run").disabled) runs.start();
});

function ruleChanged() {
  state.forced = [];
  changed();
  byId("meaning").dataset.stale = "true";
  byId("meaning").setAttribute("aria-busy", "true");
  askMeaning();
}

/** Keep the link in step with the state. */
function changed() {
  history.replaceState(null, "", linkOf(state));
  const words = ruleOf(state).ban?.words.length ?? 0;
  runs.compare(state);
  byId("ban-count").textContent = words ? String(words) : "";
  byId("branch").hidden = !state.forced.length;
  byId("branch-text").textContent = `The first ${state.forced.length === 1 ? "token is" : `${state.forced.length} tokens are`} those of the branch.`;
}

// What the server answers

const askMeaning = debounced(async (signal) => {
  try {
    const answer = await post("inspect", { rule: ruleOf(state) }, signal);
    alertUser("meaning", "");
    showMeaning(answer);
  } catch (error) {
    failed("meaning", error);
  }
}, 180);

const askWalk = debounced(async (signal) => {
  const text = state.test;
  try {
    walk.show(text, await post("walk", { rule: ruleOf(state), text }, signal));
    alertUser("walk", "");
  } catch (error) {
    if (error.name !== "AbortError") walk.clear();
    failed("walk", error);
  }
}, 120);

function showMeaning(answer) {
  const meaning = byId("meaning");
  meaning.setAttribute("aria-busy", "false");
  const error = answer.error ?? null;
  editor.mark(error);
  byId("run").disabled = Boolean(error || answer.empty);
  if (error) {
    byId("count").textContent = error.part === null ? error.message : "The rule has an error; below is the last one without.";
    return;
  }
  meaning.dataset.stale = "false";
  const warnings = answer.warnings.map((text) => [element("dt", {}, "warning"), element("dd", {}, text)]).flat();
  if (answer.empty) {
    byId("count").textContent = "No text at all";
    replace(byId("texts"), ...warnings, element("dt", {}, "why"), element("dd", {}, answer.empty));
    automaton.show(null, "");
    walk.clear();
    return;
  }
  if (answer.too_large) {
    byId("count").textContent = "Too large for this page";
    replace(byId("texts"), ...warnings, element("dt", {}, "note"), element("dd", {}, answer.too_large));
    automaton.show(null, "");
    askWalk(0);
    return;
  }
  byId("count").textContent = answer.count === "1" ? "1 text" : `${capital(answer.count)}${/^[\d,]+$|^about/.test(answer.count) ? " texts" : ""}`;
  const isShortest = answer.shortest !== null; // another short text, where the search would take too long
  replace(byId("texts"), ...warnings, element("dt", {}, isShortest ? "shortest" : "a short text"), element("dd", {}, sample(isShortest ? answer.shortest : answer.short)),
    element("dt", {}, "for example"), element("dd", {}, ...answer.samples.map(sample)));
  automaton.show(answer.automaton, answer.no_automaton);
  askWalk(0);
}

function sample(text) {
  return element("button", { type: "button", class: "text", title: "Test this text", onclick: () => {
    state.test = text;
    byId("test").value = text;
    changed();
    askWalk();
  } }, text === "" ? "the empty text" : visible(text));
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** Show what went wrong; `source` is what asked the server. */
function failed(source, error) {
  if (error.name === "AbortError") return;
  if (error.status === 401) askForKey(load);
  else alertUser(source, error instanceof TypeError ? "The server does not answer." : error.message);
}

async function load() {
  askMeaning(0);
  try {
    const about = await get("about");
    byId("model-name").textContent = `${about.model}, ${about.tokens.toLocaleString("en")} tokens in its vocabulary`;
  } catch (error) {
    failed("meaning", error);
  }
}

// The state, shown

function show(next) {
  state = next;
  editor.show(state.parts);
  byId("ban-words").value = state.ban.words;
  byId("ban-mode").value = state.ban.mode;
  byId("ban-case").checked = state.ban.ignore_case;
  byId("ban-whole").checked = state.ban.whole_words;
  byId("bans").open = state.ban.words !== "";
  byId("test").value = state.test;
  byId("prompt").value = state.prompt;
  byId("max-tokens").value = state.max_tokens;
  byId("temperature").value = state.temperature;
  byId("seed").value = state.seed;
  byId("canonical").checked = state.canonical;
  changed();
}

function followLink() {
  const linked = stateOfLink(location.hash);
  if (linked === undefined) alertUser("link", "The link could not be read, so the page shows its first example.");
  show(linked ?? initialState());
}

byId("example").append(...Object.keys(EXAMPLES).map((name) => element("option", { value: name }, name)));
byId("example").onchange = (event) => {
  const example = EXAMPLES[event.target.value];
  if (!example) return;
  runs.stop();
  show(checkedState({ ...initialState(), ...structuredClone(example) }));
  announce(`Example: ${event.target.value}`);
  askMeaning(0);
};

byId("share").onclick = async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    alertUser("link", "");
    announce("The link is copied.");
    byId("share").textContent = "Copied";
    setTimeout(() => (byId("share").textContent = "Copy link"), 1500);
  } catch {
    alertUser("link", "The browser did not let the page copy; the address bar has the same link.");
  }
};

const THEMES = ["auto", "light", "dark"];
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").textContent = `Theme: ${theme}`;
}
byId("theme").onclick = () => {
  setTheme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
};

addEventListener("hashchange", () => {
  if (!location.hash.startsWith("#s=")) return;
  runs.stop();
  followLink();
  askMeaning();
});

setTheme("auto");
followLink();
load();
