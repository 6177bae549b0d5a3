// Choices: what the model preferred at one step, what the rule refused, and why.

import { byId, element, percent, replace, visible } from "./elements.js";

const TAGS = {
  banned: "banned word", budget: "budget", canonical: "not canonical", finished: "after the end", incomplete: "too early",
  language: "byte", rule: "rule", table: "table",
};

let shown = null;

/**
 * Show the choices of a token. `force(id)` starts a branch; null where none can start. `details(ids)` returns a promise
 * of what refuses tokens, by id; `point(marks)` shows where it stands in the rule.
 */
export function showChoices(token, force, details, point) {
  shown = token;
  const name = token.kind === "end" ? "end of text" : visible(token.text);
  const title = [`Token ${token.position + 1}: `, element("span", { class: "mono" }, name)];
  if (token.isGone) title.push(element("span", { class: "quiet" }, " (taken back)"));
  replace(byId("choices-title"), ...title);
  if (token.forced) {
    replace(byId("choices-body"), element("p", { class: "quiet" }, "It was the only token allowed here, so the model was not asked. It costs nothing."));
    return;
  }
  const lead = element("p", { class: "quiet" }, `The model gave this token ${percent(token.before)}. The rule kept ${percent(token.mass)} of all probability` +
    ` (a cost of ${(token.nats ?? 0).toFixed(2)} nats), so after the mask it has ${percent(token.after)}.`);
  const head = element("tr", {}, ...["token", "model", "after the mask", ""].map((text, index) =>
    element("th", { scope: "col" }, index === 3 ? element("span", { class: "hidden" }, "why not") : text)));
  const rows = token.candidates.map((candidate) => row(candidate, candidate.id === token.id, force));
  if (details) fillDetails(token, rows, details, point);
  replace(byId("choices-body"), lead, element("table", {}, element("caption", { class: "hidden" }, "The model's most likely tokens at this step"),
    element("thead", {}, head), element("tbody", {}, ...rows)));
}

/** Ask what refuses the candidates, once the token has been looked at for a moment; what was answered is kept. */
async function fillDetails(token, rows, details, point) {
  const refused = token.candidates.filter((each) => !each.allowed && each.reason.kind !== "banned").map((each) => each.id);
  if (!refused.length) return;
  if (!token.details) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (shown !== token) return;
  }
  const found = token.details ?? (await details(refused));
  if (!found) return;
  token.details = found;
  if (shown !== token) return;
  token.candidates.forEach((candidate, index) => {
    const known = found[candidate.id];
    if (!known) return;
    const by = known.by ? `, by ${known.by}` : known.text ? `: ${known.text}` : "";
    if (by) rows[index].lastElementChild.append(element("span", { class: "by" }, by));
    rows[index].addEventListener("mouseenter", () => point(known.marks));
    rows[index].addEventListener("mouseleave", () => point([]));
  });
  point(found[refused[0]]?.marks ?? []);
}

function row(candidate, isPicked, force) {
  const text = candidate.kind === "end" ? "end of text" : visible(candidate.text) || "∅";
  const shown = candidate.allowed
    ? force && !isPicked
      ? element("button", { type: "button", class: "text", onclick: () => force(candidate.id), "aria-label": `Write “${candidate.text}” here, and branch` }, text)
      : element("span", { class: "text" }, text)
    : element("del", { class: "text" }, text);
  return element("tr", { class: isPicked ? "picked" : null }, element("td", {}, shown), number(candidate.before, "before"), number(candidate.after, "after"),
    element("td", { class: "why" }, ...why(candidate, isPicked, force)));
}

function number(probability, kind) {
  const bar = element("span", { class: probability > 0 ? "bar" : "bar nothing" });
  bar.style.width = `${Math.max(probability * 100, 0)}%`;
  return element("td", { class: `number ${kind}` }, percent(probability), bar);
}

function why(candidate, isPicked, force) {
  if (isPicked) return [element("span", { class: "quiet" }, "chosen")];
  if (candidate.allowed) return [element("span", { class: "quiet" }, force ? "allowed: choose it to write it here instead" : "allowed")];
  const { kind, text } = candidate.reason;
  return [element("span", { class: `tag ${kind}` }, TAGS[kind] ?? kind), text];
}
