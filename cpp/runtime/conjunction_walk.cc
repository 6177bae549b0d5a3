#include "runtime/conjunction_walk.h"

#include <algorithm>

#include "automaton/alternatives.h"
#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/reference_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::size_t kMostFollowed = 8;

}  // namespace

bool ConjunctionWalk::run(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  const Start& from = start(state);
  if (!from.is_conjunction) return false;
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() + std::size_t{1});
  path_[0].state = from.alternatives;
  path_[0].reference = reference == ExprSet::kEmpty ? Alternatives{} : start(reference).alternatives;
  std::int64_t visited = 0;
  for (std::size_t i = first; i < end; ++visited) {
    const TrieNode& node = trie_[i];
    if (is_shorter_below(vocabulary_, i, equal_below_)) {
      i = node.next;
      continue;
    }
    const std::size_t before = node.depth - depth;
    Position& after = path_[before + 1];
    after.byte = static_cast<std::uint8_t>(node.byte);
    follow(&Position::reference, before + 1);
    const bool has_reference = !after.reference.empty();
    if (node.subtree && take_subtree(path_[before], has_reference, i)) {
      i = node.next;
      continue;
    }
    follow(&Position::state, before + 1);
    const bool is_live = !after.state.empty();
    if (!is_live && !has_reference) {
      i = node.next;
      continue;
    }
    if (is_live && are_equal(after.state, after.reference)) {  // the builder holds these tokens
      builder_.note_length(completion_bound(after.state));
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {is_live, accept(after.state)}, {has_reference, accept(after.reference)});
    }
    if (!is_live) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(completion_bound(after.state));
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
    found.alternatives.push_back({sets_.start(part), 0, true, part});
    // Looks for a text, though the state is live: what completes it mostly completes the states below.
    const ConjunctSearch::State first = found.alternatives.back().state;
    if (sets_.decide(first) == ConjunctSearch::Verdict::unknown) sets_.note_live(first, bound);
  }
  return found;
}

// Follows the byte to the position at a depth, on one side.
void ConjunctionWalk::follow(Side side, std::size_t depth) {
  const Alternatives& from = path_[depth - 1].*side;
  Alternatives& to = path_[depth].*side;
  to.clear();
  for (std::uint32_t i = 0; i < from.size(); ++i) {
    const ConjunctSearch::State after = sets_.follow(from[i].state, path_[depth].byte);
    if (std::ranges::any_of(to, [&](const Alternative& other) { return other.state == after; })) continue;
    const ConjunctSearch::Verdict verdict = sets_.decide(after);
    if (verdict == ConjunctSearch::Verdict::dead) continue;
    to.push_back({after, i});
    if (verdict == ConjunctSearch::Verdict::unknown && !decide_by_expression(side, depth, to.size() - 1)) to.pop_back();
  }
}

// Returns whether an alternative is live.
bool ConjunctionWalk::decide_by_expression(Side side, std::size_t depth, std::size_t index) {
  const ExprId expr = expression_at(side, depth, index);
  const ConjunctSearch::State state = (path_[depth].*side)[index].state;
  if (expr == ExprSet::kEmpty) {
    sets_.note_dead(state);
  } else {
    sets_.note_live(state, automaton_.completion_bound(expr));
  }
  return expr != ExprSet::kEmpty;
}

ExprId ConjunctionWalk::expression_at(Side side, std::size_t depth, std::size_t index) {
  std::vector<std::size_t> indexes{index};  // from `depth` back to a known expression
  std::size_t known = depth;
  for (; !(path_[known].*side)[indexes.back()].knows_expr; --known) {
    indexes.push_back((path_[known].*side)[indexes.back()].from);
  }
  ExprId expr = (path_[known].*side)[indexes.back()].expr;
  while (known < depth) {
    indexes.pop_back();
    ++known;
    expr = automaton_.row(expr)[automaton_.class_of()[path_[known].byte]];
    Alternative& at = (path_[known].*side)[indexes.back()];
    at.knows_expr = true;
    at.expr = expr;
  }
  return expr;
}

bool ConjunctionWalk::are_equal(const Alternatives& one, const Alternatives& other) const {
  return one.size() == other.size() && std::ranges::all_of(one, [&other](const Alternative& each) {
           return std::ranges::any_of(other, [&each](const Alternative& match) { return match.state == each.state; });
         });
}

bool ConjunctionWalk::accept(const Alternatives& at) const {
  return std::ranges::any_of(at, [this](const Alternative& each) { return sets_.accepting(each.state); });
}

std::uint32_t ConjunctionWalk::completion_bound(const Alternatives& at) const {
  std::uint32_t least = UINT32_MAX;
  for (const Alternative& each : at) least = std::min(least, sets_.completion_bound(each.state));
  return least;
}

// Allows the whole subtree at once if each of its characters leads all conjuncts of an alternative back to themselves.
bool ConjunctionWalk::take_subtree(const Position& at, bool has_reference, std::size_t i) {
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  if (exits_ && (at.state.size() > 1 || accept(at.state))) return false;
  for (const Alternative& each : at.state) {
    if (!subtree.used.is_subset_of(sets_.loop_of(each.state))) continue;
    if (!sets_.stays_live(each.state, subtree.height)) continue;
    if (exits_ && has_reference) {
      exits_->removed.emplace_back(static_cast<std::uint32_t>(i), trie_[i].next);
    }
    builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
    builder_.note_length(saturating_add(sets_.completion_bound(each.state), kMaxContinuationBytes));
    return true;
  }
  return false;
}

}  // namespace detent
