// Examples: one for each kind of rule, each with a text to test and a prompt.

const part = (kind, source, operator = "|", negated = false) => ({ kind, source, operator, negated });

export const EXAMPLES = {
  "A decimal number": {},
  "A date, but not in 1999": {
    parts: [part("regex", "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"), part("regex", "1999.*", "-")],
    test: "1999-01-02", prompt: "When did Apollo 11 land on the Moon? Answer with a date.", max_tokens: 16,
  },
  "A person as JSON": {
    parts: [part("schema", JSON.stringify({
      type: "object",
      properties: { name: { type: "string", maxLength: 20 }, age: { type: "integer", minimum: 0, maximum: 150 } },
      required: ["name", "age"], additionalProperties: false,
    }, null, 2))],
    test: '{"name": "Ada", "age": 200}', prompt: "Anna Berg is 34. Write the person as JSON.", max_tokens: 40,
  },
  "A Python type": {
    parts: [part("type", '{"city": str, "kind": Literal["capital", "port"], "rivers": list[str]}')],
    test: '{"city": "Köln", "kind": "village"', prompt: "Describe Hamburg as JSON.", max_tokens: 48,
  },
  "Yes or no": {
    parts: [part("choice", "Yes\nNo\nI do not know")],
    test: "Yep", prompt: "Is a whale a fish?", max_tokens: 6, temperature: 0,
  },
  "Sums, by a grammar": {
    parts: [part("grammar", 'start: term ("+" term)*\nterm: NUMBER | "(" start ")"\nNUMBER: /[0-9]+/')],
    test: "1+(2+3", prompt: "Write a sum.", max_tokens: 16,
  },
  "A list, in GBNF": {
    parts: [part("grammar", 'root ::= ("- " item "\\n")+\nitem ::= [a-zA-Z ]+')],
    test: "- milk\n- ", prompt: "Write a shopping list.", max_tokens: 24,
  },
  "A function call": {
    parts: [part("tools", JSON.stringify([{
      name: "get_weather", description: "The weather of a city",
      parameters: {
        type: "object",
        properties: { city: { type: "string" }, unit: { enum: ["celsius", "fahrenheit"] } },
        required: ["city"], additionalProperties: false,
      },
    }], null, 2))],
    test: "", prompt: "What is the weather in Paris?", max_tokens: 48, temperature: 0,
  },
  "Banned words": {
    parts: [], ban: { words: "listen\ntalk", mode: "rewind", ignore_case: true, whole_words: false },
    test: "Let us talk.", prompt: "Can we talk?", max_tokens: 40, temperature: 0,
  },
  "A tight budget": {
    parts: [part("regex", "[A-Z][a-z]*( [a-z]+)*\\.")],
    test: "Very well", prompt: "Tell me a story.", max_tokens: 8, temperature: 0,
  },
};
