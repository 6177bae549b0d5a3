#include "runtime/conjunction_walk.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "automaton/alternatives.h"
#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/reference_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::size_t kMostFollowed = 8;
constexpr std::size_t kMostBytes = 16 << 20;             // of the positions that a walk remembers, about
constexpr ConjunctSearch::State kMiddle{UINT32_MAX, 0};  // no state

}  // namespace

ConjunctionWalk::~ConjunctionWalk() {
  if (kept_ && is_complete_) kept_->give_back(std::move(search_), automaton_.limits());
}

bool ConjunctionWalk::run(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  is_complete_ = false;
  const bool is_followed = follow_conjuncts(state, reference, first, end);
  is_complete_ = true;
  return is_followed;
}

bool ConjunctionWalk::follow_conjuncts(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  const Start& from = start(state);
  if (!from.is_conjunction) return false;
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() + std::size_t{1});
  after_ = from.alternatives;
  if (reference != ExprSet::kEmpty) {
    const Alternatives& others = start(reference).alternatives;
    after_.insert(after_.end(), others.begin(), others.end());
  }
  path_[0] = {add(after_, from.alternatives.size()), 0};
  std::int64_t visited = 0;
  for (std::size_t i = first; i < end; ++visited) {
    const TrieNode& node = trie_[i];
    if (equal_below_ != 0 && is_shorter_below(vocabulary_, i, equal_below_)) {
      i = node.next;
      continue;
    }
    const std::size_t before = node.depth - depth;
    const auto byte = static_cast<std::uint8_t>(node.byte);
    if (node.subtree && take_subtree(path_[before].position, i)) {
      i = node.next;
      continue;
    }
    if (bytes_ > kMostBytes) forget_positions(before);
    const PositionId after = successor(path_[before].position, byte);
    if (after == kDead) {
      i = node.next;
      continue;
    }
    path_[before + 1] = {after, byte};
    const Known& known = known_[after];
    if (known.are_equal) {  // the builder holds these tokens
      builder_.note_length(known.completion_bound);
      i = node.next;
      continue;
    }
    if (exits_ && (known.accepting || known.has_reference())) {
      exits_->note(i, node.next, {known.is_live(), known.accepting},
                   {known.has_reference(), known.reference_accepting});
    }
    if (!known.is_live()) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(known.completion_bound);
    }
    ++i;
  }
  automaton_.add_work((sets_.take_work() + visited / 4) / 2);
  return true;
}

const ConjunctionWalk::Start& ConjunctionWalk::start(ExprId expr) {
  const auto [known, is_new] = starts_.try_emplace(expr.value);
  Start& found = known->second;
  if (!is_new) return found;
  std::vector<ExprId> parts{expr};
  found.is_conjunction = sets_.is_conjunction(expr);
  if (!found.is_conjunction) {
    parts = automaton_.edit([expr](ExprSet& exprs, Derivatives&, auto&) { return distribute_unions(exprs, expr); });
    std::erase(parts, ExprSet::kEmpty);
    if (parts.size() > kMostFollowed) parts = {expr};
    found.is_conjunction = std::ranges::any_of(parts, [this](ExprId part) { return sets_.is_conjunction(part); });
  }
  for (ExprId part : parts) {
    const std::uint32_t bound = automaton_.completion_bound(part);
    if (bound == Liveness::kDead) continue;
    found.alternatives.push_back({sets_.start(part), 0, 0, true, part});
    // Looks for a text, though the state is live: what completes it mostly completes the states below.
    const ConjunctSearch::State first = found.alternatives.back().state;
    if (sets_.decide(first) == ConjunctSearch::Verdict::unknown) sets_.note_live(first, bound);
  }
  return found;
}

// The position with these alternatives, `state_count` of which are those of the state.
ConjunctionWalk::PositionId ConjunctionWalk::add(const Alternatives& alternatives, std::size_t state_count) {
  key_.clear();
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i == state_count) key_.push_back(kMiddle);
    key_.push_back(alternatives[i].state);
  }
  const PositionId id = positions_.add(key_);
  if (id < known_.size()) return id;
  Known& known = known_.emplace_back();
  known.first = static_cast<std::uint32_t>(alternatives_.size());
  known.middle = known.first + static_cast<std::uint32_t>(state_count);
  known.end = known.first + static_cast<std::uint32_t>(alternatives.size());
  const auto of_state = std::span(alternatives).first(state_count),
             of_reference = std::span(alternatives).subspan(state_count);
  for (const Alternative& each : of_state) {
    known.accepting = known.accepting || sets_.accepting(each.state);
    known.completion_bound = std::min(known.completion_bound, sets_.completion_bound(each.state));
  }
  for (const Alternative& each : of_reference) {
    known.reference_accepting = known.reference_accepting || sets_.accepting(each.state);
  }
  known.are_equal = !of_state.empty() &&
                    std::ranges::is_permutation(of_state, of_reference, {}, &Alternative::state, &Alternative::state);
  alternatives_.insert(alternatives_.end(), alternatives.begin(), alternatives.end());
  bytes_ += sizeof(Known) + (sizeof(Alternative) + sizeof(State)) * alternatives.size() +
            sizeof(PositionId) * (automaton_.class_count() + 6);
  return id;
}

ConjunctionWalk::PositionId ConjunctionWalk::follow(PositionId at, std::uint8_t byte) {
  const auto [first, middle, end] = std::tuple(known_[at].first, known_[at].middle, known_[at].end);
  after_.clear();
  follow(first, middle, byte);
  const std::size_t state_count = after_.size();
  follow(middle, end, byte);
  const PositionId after = add(after_, state_count);
  positions_.set_successor(at, automaton_.class_of()[byte], after);
  return after;
}

// Adds to after_ the live alternatives to which alternatives_[first, end) lead by a byte.
void ConjunctionWalk::follow(std::uint32_t first, std::uint32_t end, std::uint8_t byte) {
  const std::size_t before = after_.size();
  for (std::uint32_t i = first; i < end; ++i) {
    Alternative after{sets_.follow(alternatives_[i].state, byte), i, byte};
    const auto is_same = [&after](const Alternative& other) { return other.state == after.state; };
    if (std::ranges::any_of(std::span(after_).subspan(before), is_same)) continue;
    const ConjunctSearch::Verdict verdict = sets_.decide(after.state);
    if (verdict == ConjunctSearch::Verdict::dead) continue;
    if (verdict == ConjunctSearch::Verdict::live || decide_by_expression(after)) after_.push_back(after);
  }
}

// Returns whether an alternative is live.
bool ConjunctionWalk::decide_by_expression(Alternative& at) {
  at.expr = automaton_.row(expression(at.from))[automaton_.class_of()[at.byte]];
  at.knows_expr = true;
  if (at.expr == ExprSet::kEmpty) {
    sets_.note_dead(at.state);
  } else {
    sets_.note_live(at.state, automaton_.completion_bound(at.expr));
  }
  return at.expr != ExprSet::kEmpty;
}

// The expression of an alternative: found by the bytes from one where it is known.
ExprId ConjunctionWalk::expression(std::uint32_t index) {
  std::vector<std::uint32_t> path;
  for (; !alternatives_[index].knows_expr; index = alternatives_[index].from) path.push_back(index);
  ExprId expr = alternatives_[index].expr;
  for (; !path.empty(); path.pop_back()) {
    Alternative& at = alternatives_[path.back()];
    at.expr = expr = automaton_.row(expr)[automaton_.class_of()[at.byte]];
    at.knows_expr = true;
  }
  return expr;
}

// Allows the whole subtree at once if each of its characters leads all conjuncts of an alternative back to themselves.
bool ConjunctionWalk::take_subtree(PositionId at, std::size_t i) {
  Known& known = known_[at];
  if (!std::exchange(known.knows_loops, true)) {
    for (std::uint32_t k = known.first; k < known.middle; ++k) {
      known.loops = known.loops | sets_.loop_of(alternatives_[k].state);
    }
  }
  const TrieNode& node = trie_[i];
  if (!known.loops.contains(static_cast<std::uint8_t>(node.byte))) return false;
  if (exits_ && (known.accepting || known.middle - known.first > 1)) return false;
  const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
  for (std::uint32_t k = known.first; k < known.middle; ++k) {
    const State state = alternatives_[k].state;
    if (!subtree.used.is_subset_of(sets_.loop_of(state)) || !sets_.stays_live(state, subtree.height)) continue;
    builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
    builder_.note_length(saturating_add(sets_.completion_bound(state), kMaxContinuationBytes));
    if (exits_ && known_[successor(at, static_cast<std::uint8_t>(node.byte))].has_reference()) {
      exits_->removed.emplace_back(static_cast<std::uint32_t>(i), node.next);
    }
    return true;
  }
  return false;
}

// Forgets all positions but those of the path up to a depth.
void ConjunctionWalk::forget_positions(std::size_t depth) {
  const Known known = known_[path_[0].position];
  for (std::uint32_t i = known.first; i < known.end; ++i) expression(i);  // there will be no alternative before it
  const std::size_t state_count = known.middle - known.first;
  const Alternatives first(alternatives_.begin() + known.first, alternatives_.begin() + known.end);
  positions_ = Table(automaton_.class_count());
  known_.clear();
  alternatives_.clear();
  bytes_ = 0;
  add({}, 0);
  path_[0].position = add(first, state_count);
  for (std::size_t i = 1; i <= depth; ++i) path_[i].position = follow(path_[i - 1].position, path_[i].byte);
}

}  // namespace detent
