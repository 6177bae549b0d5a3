"""Grammars in Lark's notation that several tests read."""

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
