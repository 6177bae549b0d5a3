"""Words that a model must not say: what it says instead, and what that costs."""

from __future__ import annotations

import detent


def main() -> None:
    """Ask a lonely user's question with and without two words, and look at what happened."""
    model = detent.load_model()
    question, words = "Can we talk?", ["talk", "listen"]

    plain = detent.generate(model, question, temperature=0)
    print(f"As the model likes:  {plain.text!r}")

    # The model writes "listen", is sent back to the token in which the word began, and finds another way.
    out = detent.generate(model, question, temperature=0, ban=detent.Ban(words, ignore_case=True))
    print(f"Without the words:   {out.text!r}")
    for rewind in out.report.rewinds:
        kept = model.vocabulary.decode(out.token_ids[: rewind.position]).decode()
        print(f"  after {kept!r} it wrote {rewind.word!r}")
    print(out.report)

    # A list of spellings, as a simple filter would need it, is long and never complete: "listener", "LISTEN", ...
    spellings = [ids for text in ("listen", " listen") for ids in detent.tokenizations(text, model.vocabulary)]
    print(f"\nThe model's tokens spell 'listen' in {len(spellings)} ways, for example")
    for ids in spellings[:4]:
        print("  " + " ".join(repr(model.vocabulary.token_bytes(token_id).decode()) for token_id in ids))

    # A banned word inside a form: the name is another one then, and the form is still valid.
    members = {"name": {"type": "string"}, "age": {"type": "integer"}}
    schema = {"type": "object", "properties": members, "required": ["name", "age"], "additionalProperties": False}
    form = detent.json_schema(schema)
    text = "Anna Berg is 34. Write the person as JSON."
    for ban in ([], ["Anna"]):
        print(detent.generate(model, text, form, ban=ban, temperature=0, max_tokens=40).text)


if __name__ == "__main__":
    main()
