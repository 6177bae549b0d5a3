"""Grammars: a model writes formulas that always parse, in Lark's notation and in llama.cpp's."""

from __future__ import annotations

import detent

FORMULA = r"""
start: NAME "=" sum
sum: sum ("+" | "-") product | product
product: product ("*" | "/") atom | atom
atom: NUMBER | NAME | "(" sum ")"
NAME: /[a-z]{1,8}/ & ~("if" | "else")
NUMBER: /[0-9]{1,3}/
%ignore " "
"""

LIST = r"""
root ::= "- " item ("\n- " item){1,3}
item ::= [a-z]{2,12} (" " [a-z]{2,12})?
"""


def main() -> None:
    """Judge some texts, then let the embedded model write."""
    formula = detent.grammar(FORMULA)
    for text in ("x = 2 * (rate + 1)", "if = 2", "x = 2 * (rate"):
        print(f"{text!r:24} {formula.accepts(text)}")

    # A grammar is a language: it can be held to another rule, here to at most one pair of parentheses.
    flat = formula & detent.regex(r"[^(]*(\([^(]*)?")
    print(f"{'(a) + (b)'!r:24} {formula.accepts('x = (a) + (b)')} {flat.accepts('x = (a) + (b)')}")

    # Where a text goes wrong is told at once.
    try:
        detent.grammar("start: sum\nsum: NUMBER (+ sum)?")
    except detent.PatternSyntaxError as error:
        print(error)

    model = detent.load_model()
    for language in (formula, detent.gbnf(LIST)):
        out = detent.generate(model, "Write something short.", language, max_tokens=24, seed=1)
        print(f"{out.text!r} is complete: {language.accepts(out.text)}")


if __name__ == "__main__":
    main()
