#include "expr/print.h"

#include <algorithm>
#include <variant>
#include <vector>

#include "expr/json_string.h"
#include "expr/utf8.h"

namespace detent {
namespace {

// A part binds at least as tightly as the position where it is printed, or gets parentheses.
enum Precedence { kUnion, kIntersection, kConcat, kPrefix, kPostfix, kAtom };

std::string text_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) text += part;
  return text;
}

std::string print_count(std::uint32_t minimum, std::uint32_t maximum) {
  constexpr std::uint32_t kUnbounded = Node::kUnbounded;
  if (minimum == 0 && maximum == kUnbounded) return "*";
  if (minimum == 1 && maximum == kUnbounded) return "+";
  if (minimum == 0 && maximum == 1) return "?";
  if (minimum == maximum) return text_of({"{", std::to_string(minimum), "}"});
  return text_of({"{", std::to_string(minimum), ",", maximum == kUnbounded ? "" : std::to_string(maximum), "}"});
}

// Nothing where any number of members is allowed.
std::string print_member_count(std::uint32_t minimum, std::uint32_t maximum) {
  return minimum == 0 && maximum == Node::kUnbounded ? "" : print_count(minimum, maximum);
}

std::string print_byte(unsigned byte, std::string_view escaped) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  if (byte == '\r') return "\\r";
  if (byte < 0x20 || byte > 0x7E) return {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  const char character = static_cast<char>(byte);
  if (escaped.find(character) != std::string_view::npos) return {'\\', character};
  return {character};
}

// Builds the text from the left with a stack of pieces: finished text, or a part with the precedence that it needs.
template <class Part>
class Printer {
 public:
  struct Item {
    Part part;
    Precedence needed;
  };
  using Piece = std::variant<std::string, Item>;

  // `describe(part, pieces)` appends the pieces of a part and returns its precedence.
  template <class Describe>
  std::string print(Part root, std::size_t max_bytes, Describe describe) {
    std::vector<Piece> pending{Item{root, kUnion}};
    std::string text;
    while (!pending.empty() && text.size() <= max_bytes) {
      const Piece next = std::move(pending.back());
      pending.pop_back();
      if (const std::string* finished = std::get_if<std::string>(&next)) {
        text += *finished;
        continue;
      }
      const Item& item = std::get<Item>(next);
      std::vector<Piece> pieces;
      const bool needs_parentheses = describe(item.part, pieces) < item.needed;
      if (needs_parentheses) pending.emplace_back(")");
      pending.insert(pending.end(), std::make_move_iterator(pieces.rbegin()), std::make_move_iterator(pieces.rend()));
      if (needs_parentheses) pending.emplace_back("(");
    }
    if (text.size() <= max_bytes) return text;
    while (max_bytes > 0 && (static_cast<unsigned char>(text[max_bytes]) & 0xC0) == 0x80) --max_bytes;
    return text.substr(0, max_bytes) + "…";
  }
};

template <class Pieces, class Parts, class ItemOf>
void append_joined(Pieces& pieces, const Parts& parts, const char* separator, ItemOf item_of) {
  bool is_first = true;
  for (const auto& part : parts) {
    if (!is_first) pieces.emplace_back(separator);
    is_first = false;
    pieces.emplace_back(item_of(part));
  }
}

using NodePrinter = Printer<const Node*>;
using ExprPrinter = Printer<ExprId>;

NodePrinter::Item node_item(const NodeRef& node, Precedence needed) { return {node.get(), needed}; }

void append_members(const Node& node, std::vector<NodePrinter::Piece>& pieces) {
  const auto& children = node.children();
  pieces.emplace_back(node.kind() == NodeKind::ordered ? "ordered(" : "unordered(");
  pieces.emplace_back(node_item(children[0], kUnion));
  pieces.emplace_back(";");
  for (std::size_t i = 2; i < children.size(); ++i) {
    pieces.emplace_back(i == 2 ? " " : ", ");
    const bool is_required = node.text()[i - 2] == '1';
    pieces.emplace_back(node_item(children[i], is_required ? kUnion : kPostfix));
    if (!is_required) pieces.emplace_back("?");
  }
  if (children[1]->kind() != NodeKind::empty) {
    pieces.emplace_back(children.size() > 2 ? ", " : " ");
    pieces.emplace_back(node_item(children[1], kPostfix));
    pieces.emplace_back("*");
  }
  pieces.emplace_back(")");
  if (node.kind() == NodeKind::unordered) {
    pieces.emplace_back(print_member_count(node.minimum(), node.maximum()));
  } else if (node.minimum() > 0) {
    pieces.emplace_back("+");
  }
}

void append_kinds(const Node& node, std::vector<NodePrinter::Piece>& pieces) {
  const auto& children = node.children();
  pieces.emplace_back("kinds(");
  pieces.emplace_back(node_item(children[0], kUnion));
  for (std::size_t i = 1; i < children.size(); i += 2) {
    pieces.emplace_back(i == 1 ? "; " : " | ");
    if (children[i]->kind() != NodeKind::epsilon) {
      pieces.emplace_back(node_item(children[i], kConcat));
      pieces.emplace_back(" ");
    }
    pieces.emplace_back(node_item(children[i + 1], kConcat));
  }
  pieces.emplace_back(")");
}

// One case for each kind of node.
Precedence describe_node(const Node* node, std::vector<NodePrinter::Piece>& pieces) {
  const auto& children = node->children();
  const auto call = [&](const char* name, std::size_t child = 0) {
    pieces.emplace_back(text_of({name, "("}));
    pieces.emplace_back(node_item(children[child], kUnion));
    pieces.emplace_back(")");
    return kAtom;
  };
  const auto joined = [&](const char* separator, Precedence precedence) {
    append_joined(pieces, children, separator,
                  [&](const NodeRef& child) { return node_item(child, static_cast<Precedence>(precedence + 1)); });
    return precedence;
  };
  static const NodeRef kCharacter = utf8_chars({{0, 0x10FFFF}});
  if (node->hash() == kCharacter->hash()) {
    pieces.emplace_back("char");
    return kAtom;
  }
  switch (node->kind()) {
    case NodeKind::empty: pieces.emplace_back("∅"); return kAtom;
    case NodeKind::epsilon: pieces.emplace_back("ε"); return kAtom;
    case NodeKind::bytes: pieces.emplace_back(print_bytes(node->set())); return kAtom;
    case NodeKind::literal: pieces.emplace_back(print_text(node->text())); return kAtom;
    case NodeKind::concat: return joined(" ", kConcat);
    case NodeKind::union_of: return joined("|", kUnion);
    case NodeKind::intersection: return joined("&", kIntersection);
    case NodeKind::complement:
      pieces.emplace_back("~");
      pieces.emplace_back(node_item(children[0], kPrefix));
      return kPrefix;
    case NodeKind::repeat:
      pieces.emplace_back(node_item(children[0], kAtom));
      pieces.emplace_back(print_count(node->minimum(), node->maximum()));
      return kPostfix;
    case NodeKind::lookahead:
    case NodeKind::lookbehind: {
      const char* direction = node->kind() == NodeKind::lookahead ? "(?" : "(?<";
      pieces.emplace_back(text_of({direction, node->negative() ? "!" : "="}));
      pieces.emplace_back(node_item(children[0], kUnion));
      pieces.emplace_back(")");
      return kAtom;
    }
    case NodeKind::scope: return call("scope");
    case NodeKind::reference: pieces.emplace_back(text_of({"<", std::to_string(node->minimum()), ">"})); return kAtom;
    case NodeKind::grammar:
      pieces.emplace_back(text_of({"grammar(<", std::to_string(node->minimum()), "> where "}));
      for (std::size_t i = 0; i < children.size(); ++i) {
        pieces.emplace_back(text_of({i == 0 ? "<" : "; <", std::to_string(i), "> = "}));
        pieces.emplace_back(node_item(children[i], kUnion));
      }
      pieces.emplace_back(")");
      return kAtom;
    case NodeKind::json_string: return call("json");
    case NodeKind::serialized_string: return call("serialized");
    case NodeKind::unordered:
    case NodeKind::ordered: append_members(*node, pieces); return kAtom;
    case NodeKind::distinct:
      if (node->has_order()) {
        append_kinds(*node, pieces);
        return kAtom;
      }
      pieces.emplace_back(node->text() == "names" ? "names(" : "distinct(");
      pieces.emplace_back(node_item(children[0], kUnion));
      pieces.emplace_back("; ");
      pieces.emplace_back(node_item(children[1], kConcat));
      if (children[2]->kind() != NodeKind::epsilon) {
        pieces.emplace_back(" ");
        pieces.emplace_back(node_item(children[2], kConcat));
      }
      pieces.emplace_back(")");
      pieces.emplace_back(print_member_count(node->minimum(), node->maximum()));
      return kAtom;
    case NodeKind::maximal_munch:
      pieces.emplace_back("munch(");
      pieces.emplace_back(node_item(children[0], kUnion));
      pieces.emplace_back(" of ");
      pieces.emplace_back(node_item(children[1], kUnion));
      pieces.emplace_back(")");
      return kAtom;
    case NodeKind::not_followed_by: return call("not_before");
    case NodeKind::special: {
      const std::string name = print_text(node->text());
      pieces.emplace_back(text_of({"<", std::string_view(name).substr(1, name.size() - 2), ">"}));
      if (children.empty()) return kAtom;
      return call(" or ");
    }
  }
  return kAtom;
}

const char* position_name(std::uint32_t position) {
  constexpr const char* kNames[] = {"text", "escape", "hex0", "hex1", "hex2", "hex3", "low_escape", "low_u", "low0",
                                    "low1", "low2",   "low3", "any1", "any2", "any3", "high1",      "high2"};
  return kNames[position];
}

const char* position_mark(MemberPosition position) {
  return position == MemberPosition::start          ? ""
         : position == MemberPosition::after_member ? "@after_member"
                                                    : "@after_separator";
}

void append_members(const ExprSet& exprs, ExprId id, std::vector<ExprPrinter::Piece>& pieces) {
  const bool is_ordered = exprs[id].op == Op::ordered;
  ExprId separator, others;
  std::vector<std::pair<ExprId, bool>> members;  // and whether each is required
  MemberPosition position;
  if (is_ordered) {
    const OrderedMembers& all = exprs.ordered_members(id);
    separator = all.separator;
    others = all.others;
    position = static_cast<MemberPosition>(exprs[id].member_position());
    for (std::size_t i = exprs[id].next_member(); i < all.members.size(); ++i) {
      members.emplace_back(all.members[i], all.required[i]);
    }
  } else {
    const auto operands = exprs.operands(id);
    separator = operands[0];
    others = operands[1];
    position = exprs.unordered_state(id).position;
    for (std::size_t i = 2; i < operands.size(); ++i) {
      members.emplace_back(operands[i], i - 2 < exprs.unordered_state(id).required);
    }
  }
  pieces.emplace_back(text_of({is_ordered ? "ordered" : "unordered", position_mark(position), "("}));
  pieces.emplace_back(ExprPrinter::Item{separator, kUnion});
  pieces.emplace_back(";");
  for (std::size_t i = 0; i < members.size(); ++i) {
    pieces.emplace_back(i == 0 ? " " : ", ");
    pieces.emplace_back(ExprPrinter::Item{members[i].first, members[i].second ? kUnion : kPostfix});
    if (!members[i].second) pieces.emplace_back("?");
  }
  if (others != ExprSet::kEmpty) {
    pieces.emplace_back(members.empty() ? " " : ", ");
    pieces.emplace_back(ExprPrinter::Item{others, kPostfix});
    pieces.emplace_back("*");
  }
  pieces.emplace_back(")");
  if (is_ordered) return;
  pieces.emplace_back(print_member_count(exprs.unordered_state(id).minimum, exprs.unordered_state(id).maximum));
}

void append_distinct(const ExprSet& exprs, ExprId id, std::vector<ExprPrinter::Piece>& pieces) {
  const DistinctState& state = exprs.list_state(id);
  const DistinctList& list = exprs.list(state.list);
  const char* name = list.kind == DistinctKind::names ? "names" : "distinct";
  const char* phase = state.phase == ItemPhase::open ? "@open" : state.phase == ItemPhase::closed ? "@closed" : "";
  pieces.emplace_back(text_of({name, position_mark(state.position), phase, "("}));
  pieces.emplace_back(ExprPrinter::Item{list.separator, kUnion});
  pieces.emplace_back("; ");
  for (std::size_t i = 0; i < list.kinds.size(); ++i) {
    if (i > 0) pieces.emplace_back(" | ");
    const ItemKind& kind = list.kinds[i];
    const bool has_key = kind.keys != ItemKind::kNoKey;
    if (has_key) pieces.emplace_back(ExprPrinter::Item{list.keys[kind.keys].key, kConcat});
    if (has_key && kind.rest != ExprSet::kEpsilon) pieces.emplace_back(" ");
    if (!has_key || kind.rest != ExprSet::kEpsilon) pieces.emplace_back(ExprPrinter::Item{kind.rest, kConcat});
  }
  if (list.order) pieces.emplace_back(text_of({"; order ", std::to_string(state.order)}));
  for (ExprId excluded : {state.excluded, state.excluded_strings, state.excluded_integers}) {
    if (excluded == ExprSet::kEmpty) continue;
    pieces.emplace_back(" - ");
    pieces.emplace_back(ExprPrinter::Item{excluded, kConcat});
  }
  pieces.emplace_back(")");
  if (!list.order) pieces.emplace_back(print_member_count(state.minimum, state.maximum));
}

// One case for each operator.
Precedence describe_expr(const ExprSet& exprs, ExprId id, std::vector<ExprPrinter::Piece>& pieces) {
  const Expr& expr = exprs[id];
  if (id == exprs.sigma_star()) {
    pieces.emplace_back("Σ*");
    return kAtom;
  }
  const auto call = [&](const std::string& name, ExprId part) {
    pieces.emplace_back(text_of({name, "("}));
    pieces.emplace_back(ExprPrinter::Item{part, kUnion});
    pieces.emplace_back(")");
    return kAtom;
  };
  const auto joined = [&](const char* separator, Precedence precedence) {
    append_joined(pieces, exprs.operands(id), separator,
                  [&](ExprId operand) { return ExprPrinter::Item{operand, static_cast<Precedence>(precedence + 1)}; });
    return precedence;
  };
  switch (expr.op) {
    case Op::empty: pieces.emplace_back("∅"); return kAtom;
    case Op::epsilon: pieces.emplace_back("ε"); return kAtom;
    case Op::bytes: pieces.emplace_back(print_bytes(exprs.set(expr.set_index()))); return kAtom;
    case Op::text: pieces.emplace_back(print_text(exprs.text_of(id))); return kAtom;
    case Op::concat:
      pieces.emplace_back(ExprPrinter::Item{expr.first(), kPrefix});
      pieces.emplace_back(" ");
      pieces.emplace_back(ExprPrinter::Item{expr.second(), kConcat});
      return kConcat;
    case Op::union_of: return joined("|", kUnion);
    case Op::grown_union:
      pieces.emplace_back(ExprPrinter::Item{expr.first(), kUnion});
      pieces.emplace_back("|");
      pieces.emplace_back(ExprPrinter::Item{expr.second(), kUnion});
      return kUnion;
    case Op::intersection: return joined("&", kIntersection);
    case Op::complement:
      pieces.emplace_back("~");
      pieces.emplace_back(ExprPrinter::Item{expr.part(), kPrefix});
      return kPrefix;
    case Op::repeat:
      pieces.emplace_back(ExprPrinter::Item{expr.part(), kAtom});
      pieces.emplace_back(print_count(expr.minimum(), expr.maximum()));
      return kPostfix;
    case Op::rule:
    case Op::loop: pieces.emplace_back(text_of({"<", std::to_string(expr.definition_index()), ">"})); return kAtom;
    case Op::json_escaped: {
      const std::string name = is_serialized(expr.escape_position()) ? "serialized" : "json";
      const EscapePosition position = escape_position_of(expr.escape_position());
      return call(position == EscapePosition::text
                      ? name
                      : text_of({name, "@", position_name(static_cast<std::uint32_t>(position))}),
                  expr.part());
    }
    case Op::unordered:
    case Op::ordered: append_members(exprs, id, pieces); return kAtom;
    case Op::distinct: append_distinct(exprs, id, pieces); return kAtom;
    case Op::decimal: {
      const Decimal& number = exprs.decimal_number(expr.decimal_index());
      pieces.emplace_back(text_of(
          {"number(", number.is_negative ? "-0." : "0.", number.digits, "e", std::to_string(number.point), ")"}));
      return kAtom;
    }
    case Op::remembered: return call("remembered", expr.part());
    case Op::maximal_munch:
      pieces.emplace_back("munch(");
      pieces.emplace_back(ExprPrinter::Item{expr.part(), kUnion});
      pieces.emplace_back(" of ");
      pieces.emplace_back(ExprPrinter::Item{expr.munched(), kUnion});
      pieces.emplace_back(")");
      return kAtom;
    case Op::not_followed_by: return call("not_before", expr.part());
    case Op::lookbehind_condition:
      pieces.emplace_back(text_of({"if#", std::to_string(expr.lookbehind_index())}));
      return kAtom;
    case Op::lookbehind_end: pieces.emplace_back("⟨end⟩"); return kAtom;
    case Op::lookbehind_context:
      pieces.emplace_back("context(");
      append_joined(pieces, exprs.operands(id), "; ", [](ExprId part) { return ExprPrinter::Item{part, kUnion}; });
      pieces.emplace_back(")");
      return kAtom;
  }
  return kAtom;
}

}  // namespace

std::string print_bytes(const ByteSet& set) {
  if (set == ByteSet::all()) return "[^]";
  std::string text = "[";
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!set.contains(static_cast<std::uint8_t>(byte))) continue;
    unsigned last = byte;
    while (last < 255 && set.contains(static_cast<std::uint8_t>(last + 1))) ++last;
    text += print_byte(byte, "]\\^-");
    if (last > byte + 1) text += '-';
    if (last > byte) text += print_byte(last, "]\\^-");
    byte = last;
  }
  return text + "]";
}

std::string print_text(std::string_view text) {
  std::string printed = "\"";
  for (char byte : text) printed += print_byte(static_cast<std::uint8_t>(byte), "\"\\");
  return printed + "\"";
}

std::string print_node(const Node& node, std::size_t max_bytes) {
  return NodePrinter().print(&node, max_bytes, describe_node);
}

std::string print_expr(const ExprSet& exprs, ExprId id, std::size_t max_bytes) {
  return ExprPrinter().print(id, max_bytes, [&exprs](ExprId part, std::vector<ExprPrinter::Piece>& pieces) {
    return describe_expr(exprs, part, pieces);
  });
}

}  // namespace detent
