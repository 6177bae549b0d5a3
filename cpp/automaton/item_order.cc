#include "automaton/item_order.h"

#include <algorithm>

#include "base/error.h"

namespace detent {
namespace {

constexpr std::size_t kMaxItems = 1 << 16;  // of a completion

// Each kind gets a separate byte class, so that a completion can be restricted to some kinds.
NodeRef of_live_kinds(const NodeRef& order, const std::vector<bool>& is_live) {
  ByteSet kinds;
  std::vector<NodeRef> single{Node::empty()};
  for (std::size_t kind = 0; kind < is_live.size(); ++kind) {
    single.push_back(Node::bytes(ByteSet::of(static_cast<std::uint8_t>(kind))));
    if (is_live[kind]) kinds.insert(static_cast<std::uint8_t>(kind));
  }
  const NodeRef live = Node::intersection({order, Node::repeat(Node::bytes(kinds), 0, Node::kUnbounded)});
  return Node::union_of({live, Node::concat(std::move(single))});
}

// An order may use a quarter of the language's memory limit.
Limits part_of(Limits limits) {
  limits.memory_bytes /= 4;
  return limits;
}

}  // namespace

LanguageOrder::LanguageOrder(const NodeRef& order, const std::vector<bool>& is_live, const Limits& limits)
    : language_(of_live_kinds(order, is_live)), limits_(part_of(limits)), lengths_(is_live.size()) {
  make_automaton();
  if (automaton_->start() != ExprSet::kEmpty) start_ = number_of(automaton_->start(), kNone, 0);
}

void LanguageOrder::make_automaton() {
  automaton_ = std::make_unique<Automaton>(language_, Automaton::Writable{}, 1, limits_, nullptr);
  exprs_.clear();
  next_.clear();
  if (start_ != kNone) exprs_.emplace(start_, automaton_->start());
}

std::uint32_t LanguageOrder::number_of(ExprId expr, std::uint32_t before, std::uint32_t kind) {
  if (expr == ExprSet::kEmpty) return kNone;
  const Hash128& hash = automaton_->hash(expr);
  const auto [known, is_new] = known_.try_emplace(hash, static_cast<std::uint32_t>(states_.size()));
  if (is_new) states_.push_back({hash, before, kind, automaton_->accepting(expr)});
  exprs_.emplace(known->second, expr);
  return known->second;
}

ExprId LanguageOrder::expr_of(std::uint32_t state) {
  std::vector<std::uint32_t> kinds;
  std::uint32_t at = state;
  for (; !exprs_.contains(at); at = states_[at].before) kinds.push_back(states_[at].kind);
  ExprId expr = exprs_.at(at);
  for (std::size_t i = kinds.size(); i-- > 0;) expr = after(expr, kinds[i]);
  exprs_.emplace(state, expr);
  return expr;
}

std::uint32_t LanguageOrder::next(std::uint32_t state, std::uint32_t kind) {
  const std::lock_guard lock(mutex_);
  return next_state(state, kind);
}

bool LanguageOrder::may_end(std::uint32_t state) {
  const std::lock_guard lock(mutex_);
  return states_[state].may_end;
}

Hash128 LanguageOrder::hash(std::uint32_t state) {
  const std::lock_guard lock(mutex_);
  return states_[state].hash;
}

std::uint32_t LanguageOrder::next_state(std::uint32_t state, std::uint32_t kind) {
  const auto known = next_.find(state);
  if (known != next_.end()) return known->second[kind];
  if (automaton_->memory_bytes() > limits_.memory_bytes / 2) make_automaton();
  const ExprId expr = expr_of(state);
  std::vector<std::uint32_t> row;
  for (std::uint32_t each = 0; each < lengths_.size(); ++each) row.push_back(number_of(after(expr, each), state, each));
  return next_.emplace(state, std::move(row)).first->second[kind];
}

void LanguageOrder::set_lengths(std::vector<std::uint32_t> lengths) {
  const std::lock_guard lock(mutex_);
  if (lengths == lengths_) return;
  lengths_ = std::move(lengths);
  steps_.clear();
}

ExprId LanguageOrder::with_items_up_to(ExprId state, std::uint32_t length) {
  ByteSet kinds;
  for (std::size_t kind = 0; kind < lengths_.size(); ++kind) {
    if (lengths_[kind] <= length) kinds.insert(static_cast<std::uint8_t>(kind));
  }
  return automaton_->edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
    const ExprId restricted = exprs.intersection({state, exprs.repeat(exprs.bytes(kinds), 0, ExprSet::kUnbounded)});
    return liveness.live(restricted) ? restricted : ExprSet::kEmpty;
  });
}

// Chooses the completion whose longest item is shortest. In a recursive rule, an item that contains the list again is
// longer than the list; it is never chosen, so the length of the rule does not depend on itself. Stops at a state with
// a known completion: from there, both completions are the same.
void LanguageOrder::find_completion(std::uint32_t state) {
  std::vector<std::uint32_t> lengths = lengths_;
  std::ranges::sort(lengths);
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  const ExprId first = expr_of(state);
  const auto least = std::ranges::partition_point(lengths, [&](std::uint32_t length) {
    return length != lengths.back() && with_items_up_to(first, length) == ExprSet::kEmpty;
  });
  std::vector<std::uint8_t> kinds;
  for (ExprId at = *least == lengths.back() ? first : with_items_up_to(first, *least); !automaton_->accepting(at);) {
    if (kinds.size() == kMaxItems) throw Error(ErrorKind::limit, "completion", kMaxItems + 1, kMaxItems);
    const CompletionPaths::Step step = automaton_->completion_step(at);
    kinds.push_back(step.byte);
    at = step.state;
  }
  for (std::size_t i = 0; i < kinds.size() && !states_[state].may_end && !steps_.contains(state); ++i) {
    steps_.emplace(state, kinds[i]);
    state = next_state(state, kinds[i]);
  }
}

std::vector<std::uint32_t> LanguageOrder::completion(std::uint32_t state) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> kinds;
  while (!states_[state].may_end) {
    if (!steps_.contains(state)) find_completion(state);
    kinds.push_back(steps_.at(state));
    if (kinds.size() > kMaxItems) throw Error(ErrorKind::limit, "completion", kMaxItems + 1, kMaxItems);
    state = next_state(state, kinds.back());
  }
  return kinds;
}

}  // namespace detent
