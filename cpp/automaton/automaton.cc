#include "automaton/automaton.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>
#include <utility>

#include "automaton/grammar.h"
#include "base/fork_guard.h"
#include "expr/horizon.h"
#include "expr/json_string.h"
#include "expr/lookaround.h"
#include "expr/special.h"
#include "expr/utf8.h"

namespace detent {

Automaton::Automaton(const NodeRef& root, const NodeRef* tokenizable, std::uint32_t horizon, const Limits& limits,
                     std::shared_ptr<const CancelFlag> cancel)
    : meter_(limits),
      exprs_(meter_),
      derivatives_(exprs_, meter_),
      liveness_(exprs_, derivatives_, meter_),
      horizon_(horizon) {
  const ForkGuard guard;
  meter_.restart(std::move(cancel));
  register_sets(root);
  if (tokenizable) register_sets(*tokenizable);
  derivatives_.freeze_byte_classes();
  derivatives_.set_live([this](ExprId id) { return liveness_.live(id); });
  start_ = intern(root);
  if (has_strings_) text_expr_ = intern(text_);
  if (tokenizable) tokenizable_ = intern(*tokenizable);
  interned_ = {};
  if (!liveness_.live(start_)) start_ = ExprSet::kEmpty;
  grow_slots();
  meter_.restart();
}

// Byte classes must be known before anything is derived, and whether a part of a grammar is empty may take derivatives.
void Automaton::register_sets(const NodeRef& root) {
  bool has_grammar = false, has_complement = false, has_string = false;
  ByteSet singles;
  std::unordered_set<const Node*> seen{root.get()};
  std::vector<const Node*> pending{root.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    pending.pop_back();
    meter_.step();
    has_grammar |= node->kind() == NodeKind::grammar;
    has_complement |= node->kind() == NodeKind::complement;
    if (node->kind() == NodeKind::bytes) exprs_.bytes(node->set());
    if (node->kind() == NodeKind::json_string) {
      if (!has_string) register_escape_bytes(exprs_);
      has_string = true;
    }
    if (node->kind() == NodeKind::literal) {
      for (char byte : node->text()) singles.insert(static_cast<std::uint8_t>(byte));
    }
    if (node->kind() == NodeKind::special) {
      for (char byte : special_frame(node->text())) singles.insert(static_cast<std::uint8_t>(byte));
    }
    for (const NodeRef& child : node->children()) {
      if (seen.insert(child.get()).second) pending.push_back(child.get());
    }
    if (pending.empty() && ((has_grammar && has_complement) || has_string) && !text_.get()) {
      text_ = Node::repeat(utf8_chars({{0, 0x10FFFF}}), 0, Node::kUnbounded);
      pending.push_back(text_.get());
    }
  }
  has_strings_ |= has_string;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (singles.contains(static_cast<std::uint8_t>(byte))) exprs_.bytes(ByteSet::of(static_cast<std::uint8_t>(byte)));
  }
  if (!text_.get()) text_ = Node::repeat(Node::bytes(ByteSet::all()), 0, Node::kUnbounded);
}

// The operands of a concatenation, union or intersection with those of the same kind inside it in their place, or
// the children of any other node. A chain `((a + b) + c) + ...` is one flat list, not a list for each of its prefixes.
std::vector<const Node*> Automaton::operands_of(const Node* node) {
  const NodeKind kind = node->kind();
  const bool flat = kind == NodeKind::concat || kind == NodeKind::union_of || kind == NodeKind::intersection;
  std::vector<const Node*> operands;
  std::vector<const Node*> pending{node};
  while (!pending.empty()) {
    const Node* next = pending.back();
    pending.pop_back();
    if (next != node && !(flat && next->kind() == kind)) {
      operands.push_back(next);
      continue;
    }
    meter_.step(static_cast<std::int64_t>(next->children().size()));
    for (std::size_t i = next->children().size(); i-- > 0;) pending.push_back(next->children()[i].get());
  }
  return operands;
}

ExprId Automaton::intern(const NodeRef& root) {
  std::vector<const Node*> pending{root.get()};
  while (!pending.empty()) {
    const Node* node = pending.back();
    if (interned_.contains(node)) {
      pending.pop_back();
      continue;
    }
    meter_.step();
    if (node->kind() == NodeKind::scope) {
      // Compiles its body itself; what is free of assertions comes back here, where it may hold another scope.
      if (++scope_depth_ > kMaxScopes) throw Error(ErrorKind::limit, "depth", scope_depth_, kMaxScopes);
      interned_[node] =
          compile_scope(exprs_, *node->children()[0], [this](const NodeRef& part) { return intern(part); });
      --scope_depth_;
      pending.pop_back();
      continue;
    }
    const std::vector<const Node*> operands =
        node->kind() == NodeKind::grammar ? closed_parts(*node) : operands_of(node);
    bool ready = true;
    for (std::size_t i = operands.size(); i-- > 0;) {
      if (!interned_.contains(operands[i])) {
        pending.push_back(operands[i]);
        ready = false;
      }
    }
    if (!ready) continue;
    pending.pop_back();
    if (node->kind() == NodeKind::grammar) {
      interned_[node] = compile_grammar(exprs_, liveness_, meter_, *node, interned_);
      continue;
    }
    std::vector<ExprId> parts;
    for (const Node* operand : operands) parts.push_back(interned_[operand]);
    interned_[node] = build(*node, std::move(parts));
  }
  return interned_[root.get()];
}

ExprId Automaton::build(const Node& node, std::vector<ExprId> parts) {
  switch (node.kind()) {
    case NodeKind::empty: return ExprSet::kEmpty;
    case NodeKind::epsilon: return ExprSet::kEpsilon;
    case NodeKind::bytes: return exprs_.bytes(node.set());
    case NodeKind::literal: return exprs_.literal(node.text());
    case NodeKind::concat: {
      ExprId id = ExprSet::kEpsilon;
      for (std::size_t i = parts.size(); i-- > 0;) id = exprs_.concat(parts[i], id);
      return id;
    }
    case NodeKind::union_of: return exprs_.union_of(std::move(parts));
    case NodeKind::intersection: {
      // A complement has byte strings that are no text. Where rules or strings bring in text, say so: that nothing is
      // left of such an intersection is then seen at once, instead of after all that they could write.
      const auto has_rule = [this](ExprId part) { return exprs_[part].has_rule; };
      const auto is_bytes = [](const NodeRef& child) { return !child->is_text(); };
      const auto is_text = [](const NodeRef& child) { return child->is_text() && !child->has_special(); };
      if (std::ranges::any_of(node.children(), is_text) && std::ranges::any_of(node.children(), is_bytes) &&
          (has_strings_ || std::ranges::any_of(parts, has_rule))) {
        parts.push_back(intern(text_));
      }
      return exprs_.intersection(std::move(parts));
    }
    case NodeKind::complement: return exprs_.complement(parts[0]);
    case NodeKind::repeat: return exprs_.repeat(parts[0], node.minimum(), node.maximum());
    case NodeKind::json_string:
      return exprs_.json_escaped(parts[0], static_cast<std::uint32_t>(EscapePosition::text), 0);
    case NodeKind::unordered:
    case NodeKind::ordered:
      for (ExprId& part : parts) {
        if (!liveness_.live(part)) part = ExprSet::kEmpty;
      }
      return node.kind() == NodeKind::ordered ? make_ordered(exprs_, node, parts) : make_unordered(exprs_, node, parts);
    case NodeKind::maximal_munch: return exprs_.maximal_munch(parts[0], parts[1]);
    case NodeKind::not_followed_by: return exprs_.not_followed_by(parts[0]);
    case NodeKind::special:  // for no vocabulary
      return exprs_.literal(special_frame(node.text()));
    case NodeKind::grammar:
    case NodeKind::reference: throw Error(ErrorKind::argument, "open_reference");
    default: throw Error(ErrorKind::argument, "assertion_outside_scope");
  }
}

void Automaton::grow_slots() {
  while (rows_.size() < exprs_.size()) {
    rows_.emplace_back();
    normal_[0].emplace_back();
    normal_[1].emplace_back();
    self_loop_bytes_.emplace_back();
  }
}

const ExprId* Automaton::publish(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (const ExprId* known = rows_[state.value].load(std::memory_order_relaxed)) return known;
  meter_.restart();
  ExprId* row = derivatives_.row(state);
  ExprId asked = ExprSet::kEmpty;
  bool alive = false;
  for (std::uint32_t c = 0; c < class_count(); ++c) {
    const ExprId next = row[c];
    if (next == ExprSet::kEmpty) continue;
    if (next != asked) {
      asked = next;
      alive = liveness_.live(next);
    }
    if (!alive) row[c] = ExprSet::kEmpty;
  }
  grow_slots();
  rows_[state.value].store(row, std::memory_order_release);
  return row;
}

bool Automaton::search_tokenizable(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const bool found = liveness_.live(exprs_.intersection({state, tokenizable_}));
  grow_slots();
  return found;
}

ExprId Automaton::normalise(ExprId state, Horizon horizon) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  // Where not every byte is a token, a count may decide at any distance whether a text can be written.
  const std::uint32_t length = horizon == Horizon::token ? horizon_ : std::min(kNear, horizon_);
  const ExprId normal = tokenizable_ == ExprSet::kEmpty
                            ? clamp_counts(exprs_, state, length, clamped_[static_cast<int>(horizon)])
                            : state;
  grow_slots();
  normal_[static_cast<int>(horizon)][state.value].store(normal.value, std::memory_order_release);
  return normal;
}

Automaton::SlicedState Automaton::context_independent_prefixes(ExprId state) {
  constexpr std::uint32_t kManyRounds = 8;
  constexpr int kElements = 4;
  constexpr int kFewBytes = 16;
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const auto choices = [this](ExprId of) {
    if (exprs_[of].op != Op::union_of) return std::vector<ExprId>{of};
    return std::vector<ExprId>(exprs_.operands(of).begin(), exprs_.operands(of).end());
  };
  const auto is_loop = [this](const Expr& expr) {
    return expr.op == Op::json_escaped || (expr.op == Op::repeat && expr.maximum() >= kManyRounds);
  };
  // A row of single bytes from small sets, some of them counted, such as white space: few tokens go on behind it.
  const auto is_space = [&](ExprId head) {
    bool has_loop = false;
    for (int i = 0; i < kElements; ++i) {
      const bool in_row = exprs_[head].op == Op::concat;
      const Expr& element = exprs_[in_row ? exprs_[head].first() : head];
      has_loop = has_loop || is_loop(element);
      const Expr& base = element.op == Op::repeat ? exprs_[element.part()] : element;
      if (base.op != Op::bytes || exprs_.set(base.set_index()).size() > kFewBytes) return false;
      if (!in_row) return has_loop;
      head = exprs_[head].second();
    }
    return false;
  };
  SlicedState found;
  std::vector<ExprId> others;
  std::vector<ExprId> operands = choices(state);
  for (std::size_t at = 0; at < operands.size(); ++at) {
    ExprId operand = operands[at];
    if (!liveness_.live(operand)) continue;
    if (exprs_[operand].op == Op::concat && !exprs_[operand].has_lookbehind && !exprs_[operand].has_lookbehind_end) {
      // A choice in front: white space, and the others.
      const ExprId head = exprs_[operand].first(), rest = exprs_[operand].second();
      const bool may_lack = exprs_[head].op == Op::repeat && exprs_[head].minimum() == 0 && exprs_[head].maximum() == 1;
      std::vector<ExprId> spaces, plain;
      for (ExprId choice : choices(may_lack ? exprs_[head].part() : head)) {
        (!exprs_[choice].nullable && is_space(choice) ? spaces : plain).push_back(choice);
      }
      if (!spaces.empty() && (may_lack || !plain.empty())) {
        found.pairs.emplace_back(exprs_.union_of(std::move(spaces)), rest);
        operand = exprs_.union_of(std::move(plain));
        if (may_lack) operand = exprs_.repeat(operand, 0, 1);
        operand = exprs_.concat(operand, rest);
        if (exprs_[operand].op == Op::union_of) {
          const std::vector<ExprId> more = choices(operand);
          operands.insert(operands.end(), more.begin(), more.end());
          continue;
        }
      }
    }
    const Expr& expr = exprs_[operand];
    bool is_worth = expr.op == Op::concat && !expr.has_lookbehind && !expr.has_lookbehind_end;
    std::vector<ExprId> elements;
    ExprId rest = operand;
    if (is_worth) {
      bool has_loop = false, ends = false;
      for (int i = 0; i < kElements && is_worth && !ends && rest != ExprSet::kEpsilon; ++i) {
        const bool in_row = exprs_[rest].op == Op::concat;
        elements.push_back(in_row ? exprs_[rest].first() : rest);
        rest = in_row ? exprs_[rest].second() : ExprSet::kEpsilon;
        const Expr& last = exprs_[elements.back()];
        is_worth &= !last.has_guard && !last.has_rule;
        has_loop = has_loop || is_loop(last);
        if (!has_loop) {
          // A byte or two in front, such as a quotation mark.
          is_worth &= last.op == Op::bytes || (last.op == Op::repeat && exprs_[last.part()].op == Op::bytes);
          continue;
        }
        ends = last.op == Op::bytes;
        if (last.op == Op::text) {  // its first byte will do
          rest = exprs_.concat(exprs_.drop_first_byte(elements.back()), rest);
          elements.back() = exprs_.bytes(ByteSet::of(exprs_.first_byte(elements.back())));
          ends = true;
        }
      }
      is_worth &= ends;
      // Where the last byte may also stand inside, nearly every token leaves the beginning somewhere.
      for (std::size_t i = 0; is_worth && i + 1 < elements.size(); ++i) {
        if (!is_loop(exprs_[elements[i]])) continue;
        const ExprId* row = derivatives_.row(elements[i]);
        for (unsigned byte = 0; byte < 256; ++byte) {
          const bool is_last =
              exprs_.set(exprs_[elements.back()].set_index()).contains(static_cast<std::uint8_t>(byte));
          is_worth &= !is_last || row[class_of()[byte]] == ExprSet::kEmpty;
        }
      }
    }
    if (!is_worth) {
      others.push_back(operand);
      continue;
    }
    ExprId beginning = ExprSet::kEpsilon;
    for (std::size_t i = elements.size(); i-- > 0;) beginning = exprs_.concat(elements[i], beginning);
    found.pairs.emplace_back(beginning, rest);
  }
  found.rest = found.pairs.empty() ? state : exprs_.union_of(std::move(others));
  grow_slots();
  return found;
}

ExprId Automaton::after_literal(ExprId state, std::string& text) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const bool in_row = exprs_[state].op == Op::concat;
  text = exprs_.text_of(in_row ? exprs_[state].first() : state);
  return in_row ? exprs_[state].second() : ExprSet::kEpsilon;
}

Automaton::WithoutUpperBound Automaton::drop_upper_bound(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const bool in_row = exprs_[state].op == Op::concat;
  const ExprId head = in_row ? exprs_[state].first() : state;
  const bool is_spelled = exprs_[head].op == Op::json_escaped;
  const ExprId inner = is_spelled ? exprs_[head].part() : head;
  WithoutUpperBound relaxed{state};
  constexpr std::uint32_t kFewRounds = 32;  // below, one more mask costs more than it saves, but for strings
  const auto widen = [&](ExprId part) {
    const Expr& expr = exprs_[part];
    const bool is_bounded =
        expr.op == Op::repeat && expr.maximum() != ExprSet::kUnbounded && !exprs_[expr.part()].nullable;
    if (!is_bounded || expr.maximum() < (is_spelled ? 1 : kFewRounds)) return part;
    relaxed.rounds = std::min(relaxed.rounds, expr.maximum());
    return exprs_.repeat(expr.part(), expr.minimum(), ExprSet::kUnbounded);
  };
  ExprId wide = inner;
  if (exprs_[inner].op == Op::intersection) {
    std::vector<ExprId> parts(exprs_.operands(inner).begin(), exprs_.operands(inner).end());
    for (ExprId& part : parts) part = widen(part);
    wide = exprs_.intersection(std::move(parts));
  } else {
    wide = widen(inner);
    relaxed.alone = true;
  }
  if (wide == inner) return relaxed;
  if (is_spelled) wide = exprs_.json_escaped(wide, exprs_[head].escape_position(), exprs_[head].escape_bits());
  relaxed.state = in_row ? exprs_.concat(wide, exprs_[state].second()) : wide;
  grow_slots();
  return relaxed;
}

ExprId Automaton::drop_lower_bound(ExprId beginning) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const Expr& expr = exprs_[beginning];
  if (expr.op != Op::concat || exprs_[expr.second()].op != Op::bytes) return beginning;
  const Expr& head = exprs_[expr.first()];
  const Expr& inner = head.op == Op::json_escaped ? exprs_[head.part()] : head;
  const bool is_bounded = inner.op == Op::repeat && inner.minimum() > 0 && inner.maximum() == ExprSet::kUnbounded;
  if (!is_bounded || exprs_[inner.part()].nullable) return beginning;
  ExprId wide = exprs_.repeat(inner.part(), 0, ExprSet::kUnbounded);
  if (head.op == Op::json_escaped) wide = exprs_.json_escaped(wide, head.escape_position(), head.escape_bits());
  const ExprId found = exprs_.concat(wide, expr.second());
  grow_slots();
  return found;
}

ExprId Automaton::any_string_like(ExprId beginning) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const Expr& expr = exprs_[beginning];
  if (text_expr_ == ExprSet::kEmpty || expr.op != Op::concat) return beginning;
  const Expr& head = exprs_[expr.first()];
  if (head.op != Op::json_escaped || head.escape_position() != static_cast<std::uint32_t>(EscapePosition::text))
    return beginning;
  meter_.restart();
  const ExprId model = exprs_.concat(exprs_.json_escaped(text_expr_, head.escape_position(), 0), expr.second());
  grow_slots();
  return model;
}

const ByteSet& Automaton::find_self_loop_bytes(ExprId state) {
  // The one state that all bytes from `low` to `high` lead to, or the dead state.
  const auto common = [this](ExprId from, unsigned low, unsigned high) {
    if (from == ExprSet::kEmpty) return from;
    const ExprId* next = row(from);
    for (unsigned byte = low + 1; byte <= high; ++byte) {
      if (next[class_of()[byte]] != next[class_of()[low]]) return ExprSet::kEmpty;
    }
    return next[class_of()[low]];
  };
  ByteSet set;
  const ExprId* next = row(state);
  for (unsigned byte = 0; byte < 0x80; ++byte) {
    if (next[class_of()[byte]] == state) set.insert(static_cast<std::uint8_t>(byte));
  }
  for (unsigned lead = 0xC2; lead <= 0xF4; ++lead) {
    ExprId at = next[class_of()[lead]];
    if (lead >= 0xF0) {
      at = common(at, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
      at = common(at, 0x80, 0xBF);
    } else if (lead >= 0xE0) {
      at = common(at, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    }
    if (common(at, 0x80, 0xBF) == state) set.insert(static_cast<std::uint8_t>(lead));
  }
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (const ByteSet* known = self_loop_bytes_[state.value].load(std::memory_order_relaxed)) return *known;
  meter_.allocate(sizeof(ByteSet));
  loop_sets_.push_back(set);
  self_loop_bytes_[state.value].store(&loop_sets_.back(), std::memory_order_release);
  return loop_sets_.back();
}

std::string Automaton::shortest_completion(ExprId state) {
  struct Step {
    ExprId state;
    std::size_t from;
    char byte;
  };
  std::vector<Step> steps{{state, 0, 0}};
  std::unordered_set<std::uint32_t> seen{state.value};
  std::size_t i = 0;
  // Breadth first, bytes ascending: the first accepting state is reached by the least of the shortest strings.
  for (; !accepting(steps[i].state); ++i) {
    const ExprId* next = row(steps[i].state);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId to = next[class_of()[byte]];
      if (to != ExprSet::kEmpty && seen.insert(to.value).second) steps.push_back({to, i, static_cast<char>(byte)});
    }
    if (i + 1 == steps.size()) return {};  // only if `state` was dead
  }
  std::string text;
  for (; i != 0; i = steps[i].from) text += steps[i].byte;
  std::reverse(text.begin(), text.end());
  return text;
}

std::uint32_t Automaton::completion_bound(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  return liveness_.length(state);
}

std::string Automaton::some_completion(ExprId state) {
  std::string text;
  while (!accepting(state)) {
    const ExprId* next = row(state);
    const ForkGuard guard;
    const std::lock_guard lock(mutex_);
    meter_.restart();
    std::uint32_t least = Liveness::kDead;
    unsigned best = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const ExprId to = next[class_of()[byte]];
      if (to == ExprSet::kEmpty || (byte > 0 && to == next[class_of()[byte - 1]])) continue;
      const std::uint32_t length = liveness_.length(to);
      if (length >= least) continue;
      least = length;
      best = byte;
    }
    text += static_cast<char>(best);
    state = next[class_of()[best]];
  }
  return text;
}

std::int64_t Automaton::state_count() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return meter_.states();
}

std::int64_t Automaton::memory_bytes() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return meter_.bytes();
}

}  // namespace detent
