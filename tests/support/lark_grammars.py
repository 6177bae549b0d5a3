"""Grammars in Lark's notation that several tests read, and random small ones."""

CALCULATOR = r"""
?start: sum | NAME "=" sum -> assign
?sum: product | sum "+" product -> add | sum "-" product -> sub
?product: atom | product "*" atom -> mul | product "/" atom -> div
?atom: NUMBER -> number | "-" atom -> neg | NAME -> var | "(" sum ")"
%import common.CNAME -> NAME
%import common.NUMBER
%import common.WS_INLINE
%ignore WS_INLINE
"""

SQL = r"""
start: select ";"?
select: "SELECT"i "DISTINCT"i? columns "FROM"i table ("," table)* where? group? order? limit?
columns: "*" | column ("," column)*
column: expr ("AS"i NAME)?
table: NAME ("AS"i? NAME)? | "(" select ")" "AS"i NAME
where: "WHERE"i condition
group: "GROUP"i "BY"i expr ("," expr)* ("HAVING"i condition)?
order: "ORDER"i "BY"i key ("," key)*
key: expr ("ASC"i | "DESC"i)?
limit: "LIMIT"i INT ("OFFSET"i INT)?
?condition: conjunction | condition "OR"i conjunction
?conjunction: negation | conjunction "AND"i negation
?negation: comparison | "NOT"i negation
?comparison: expr OP expr | expr "IS"i "NOT"i? "NULL"i | expr "IN"i "(" expr ("," expr)* ")"
    | expr "BETWEEN"i expr "AND"i expr | "(" condition ")"
?expr: term | expr ADD term
?term: factor | term MUL factor
?factor: NAME ("." NAME)? | NUMBER | STRING | NAME "(" (expr ("," expr)* | "*")? ")"
OP: "=" | "<>" | "<=" | ">=" | "<" | ">" | "!="
ADD: "+" | "-"
MUL: "/" | "%"
NAME: /[a-z_][a-z0-9_]*/i
STRING: /'([^'\n]|'')*'/
%import common.INT
%import common.NUMBER
%import common.WS
%import common.SQL_COMMENT
%ignore WS
%ignore SQL_COMMENT
"""

CALLS = r"""
start: "[" [call ("," call)*] "]"
call: NAME ("." NAME)* "(" [argument ("," argument)* ","?] ")"
?argument: NAME "=" value | value
?value: STRING | NUMBER | "True" -> true | "False" -> false | "None" -> none | list | dict | call | lambda_
list: "[" [value ("," value)* ","?] "]"
dict: "{" [pair ("," pair)* ","?] "}"
pair: STRING ":" value
lambda_: "lambda" NAME ":" NAME
NAME: /[^\W\d]\w*/
STRING: /'([^'\\\n]|\\.)*'/ | /"([^"\\\n]|\\.)*"/
NUMBER: /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/
COMMENT: /#[^\n]*/
%ignore /[ \t\n]+/
%ignore COMMENT
"""

TERMINALS = [
    *['"a"', '"b"', '"ab"', '"ba"', '"aa"', '"c"', '"a"i', "/a+/", "/b*a/", "/[ab]/", "/a|ab/", "/ab?/", "/a*?b/"],
    *["/(a|b)+/", "/a(?!b)/", "/[a-b]+c/", "/c+/", "/ac?/", "/(ab|a)(c)?/", "/a+?/", "/b+/"],
]


def random_grammar(rng):
    """Draw a grammar of a few rules and terminals."""
    terminals = [f"T{number}" for number in range(rng.randint(2, 4))]
    literal = rng.choice(TERMINALS[:5])

    def item():
        kind = rng.random()
        name = rng.choice(terminals) if kind < 0.6 else literal if kind < 0.7 else rng.choice(["x", "y"])
        return name + (rng.choice("?*+") if rng.random() < 0.15 else "")

    lines = []
    for name in ("start", "x", "y"):
        rows = [" ".join(item() for _ in range(rng.randint(name == "start", 3))) for _ in range(rng.randint(1, 3))]
        lines.append(f"{name}: {' | '.join(rows)}")
    lines += [f"{name}{rng.choice(['', '', '.2', '.-1'])}: {rng.choice(TERMINALS)}" for name in terminals]
    if rng.random() < 0.4:
        lines.append("%ignore " + rng.choice(["/ +/", '" "', "/c/", "/#[^ ]*/"]))
    return "\n".join(lines)
