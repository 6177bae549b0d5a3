// State: all that the user has chosen, as a link carries it. Whatever a link holds is checked field by field.

export const KINDS = {
  regex: { name: "Regex", hint: "[0-9]{4}-[0-9]{2}" },
  schema: { name: "JSON Schema", hint: '{"type": "object", "properties": {…}}' },
  type: { name: "Python type", hint: '{"name": str, "tags": list[str]}' },
  grammar: { name: "Grammar (Lark or GBNF)", hint: 'start: "a" start?' },
  tools: { name: "Function calls (tools JSON)", hint: '[{"name": "…", "parameters": {…}}]' },
  choice: { name: "One of these texts", hint: "one text on each line" },
};

export const OPERATORS = {
  "|": "or",
  "&": "and",
  "-": "but not",
  "+": "then",
};

const MAX_LINK = 100_000;

export function initialState() {
  return {
    parts: [{ kind: "regex", source: "([0-9]+)?\\.[0-9]+", operator: "|", negated: false }],
    ban: { words: "", mode: "rewind", ignore_case: true, whole_words: false },
    test: "23.37",
    prompt: "It costs 12.50 euros. What is the price?",
    max_tokens: 12,
    temperature: 0.7,
    seed: 1,
    canonical: true,
    forced: [],
  };
}

const text = (value, otherwise, most = 50_000) => (typeof value === "string" && value.length <= most ? value : otherwise);
const flag = (value, otherwise) => (typeof value === "boolean" ? value : otherwise);
const number = (value, low, high, otherwise) =>
  typeof value === "number" && value >= low && value <= high ? value : otherwise;
const whole = (value, low, high, otherwise) => (Number.isInteger(value) ? number(value, low, high, otherwise) : otherwise);
const member = (value, object, otherwise) => (Object.hasOwn(object, value) ? value : otherwise);

/** Return a state from any value: what is wrong in it has the value of the initial state. */
export function checkedState(given) {
  const start = initialState();
  if (typeof given !== "object" || given === null) return start;
  const ban = typeof given.ban === "object" && given.ban !== null ? given.ban : {};
  const parts = Array.isArray(given.parts) ? given.parts.slice(0, 8) : start.parts;
  return {
    parts: parts
      .filter((part) => typeof part === "object" && part !== null)
      .map((part) => ({
        kind: member(part.kind, KINDS, "regex"),
        source: text(part.source, ""),
        operator: member(part.operator, OPERATORS, "|"),
        negated: flag(part.negated, false),
      })),
    ban: {
      words: text(ban.words, ""),
      mode: member(ban.mode, { rewind: 0, mask: 0 }, "rewind"),
      ignore_case: flag(ban.ignore_case, true),
      whole_words: flag(ban.whole_words, false),
    },
    test: text(given.test, "", 1000),
    prompt: text(given.prompt, start.prompt),
    max_tokens: whole(given.max_tokens, 1, 4096, start.max_tokens),
    temperature: number(given.temperature, 0, 10, start.temperature),
    seed: whole(given.seed, 0, Number.MAX_SAFE_INTEGER, start.seed),
    canonical: flag(given.canonical, true),
    forced: Array.isArray(given.forced) ? given.forced.filter((id) => Number.isInteger(id) && id >= 0).slice(0, 4096) : [],
  };
}

/** Return the rule of a state as the server takes it. */
export function ruleOf(state) {
  const words = state.ban.words.split("\n").filter((word) => word !== "");
  const { mode, ignore_case, whole_words } = state.ban;
  return {
    parts: state.parts.map((part) => ({ ...part })),
    ban: words.length ? { words, mode, ignore_case, whole_words } : null,
  };
}

export function linkOf(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return `#s=${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Return the state of a link's fragment; null if it has none, undefined if it cannot be read. */
export function stateOfLink(fragment) {
  if (!fragment.startsWith("#s=")) return null;
  if (fragment.length > MAX_LINK) return undefined;
  try {
    const binary = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
    return checkedState(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    return undefined;
  }
}
