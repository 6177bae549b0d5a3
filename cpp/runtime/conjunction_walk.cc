#include "runtime/conjunction_walk.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "automaton/conjuncts.h"
#include "expr/lengths.h"
#include "runtime/reference_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::uint32_t kMaxMissing = 3;  // bytes that a character at the end of a token may lack
constexpr std::size_t kMaxCompletions = 16;
constexpr int kMaxFailedSearches = 4;

}  // namespace

bool ConjunctionWalk::run(ExprId state, ExprId reference, std::size_t first, std::size_t end) {
  const auto& class_of = automaton_.class_of();
  const std::uint32_t depth = trie_[first].depth;
  path_.resize(vocabulary_.max_token_length() - depth + std::size_t{1});
  if (split(state).size() < 2) return false;
  if (bytes_.empty()) {
    std::vector<bool> is_seen(automaton_.class_count());
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!is_seen[class_of[byte]]) bytes_.push_back(static_cast<std::uint8_t>(byte));
      is_seen[class_of[byte]] = true;
    }
  }
  start(path_[0].state, state);
  start(path_[0].reference, reference);
  for (std::size_t i = first; i < end;) {
    const TrieNode& node = trie_[i];
    if (is_shorter_below(vocabulary_, i, equal_below_)) {
      i = node.next;
      continue;
    }
    const std::size_t before = node.depth - depth;
    Position& after = path_[before + 1];
    after.byte = static_cast<std::uint8_t>(node.byte);
    const bool has_reference = follow(&Position::reference, before + 1);
    if (node.subtree && take_subtree(path_[before].state, has_reference, i)) {
      i = node.next;
      continue;
    }
    const bool is_live = follow(&Position::state, before + 1);
    if (!is_live && !has_reference) {
      i = node.next;
      continue;
    }
    if (is_live && has_reference &&
        after.state.conjuncts == after.reference.conjuncts) {  // the builder holds these tokens
      builder_.note_length(after.state.verdict.completion_bound);
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {is_live, is_live && after.state.verdict.accepting},
                   {has_reference, has_reference && after.reference.verdict.accepting});
    }
    if (!is_live) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(after.state.verdict.completion_bound);
    }
    ++i;
  }
  return true;
}

std::size_t ConjunctionWalk::HashSet::operator()(const ConjunctSet& set) const {
  std::uint64_t hash = set.size();
  for (ConjunctId id : set) hash = (hash ^ id) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

ConjunctionWalk::ConjunctSet ConjunctionWalk::split(ExprId state) {
  ConjunctSet set;
  const std::vector<ExprId> parts =
      automaton_.edit([state](ExprSet& exprs, Derivatives&, Liveness&) { return conjuncts_of(exprs, state); });
  for (ExprId part : parts) set.push_back(intern(part));
  std::ranges::sort(set);
  set.erase(std::ranges::unique(set).begin(), set.end());
  return set;
}

ConjunctionWalk::ConjunctId ConjunctionWalk::intern(ExprId conjunct) {
  const auto [id, is_new] = ids_.try_emplace(conjunct.value, static_cast<ConjunctId>(conjuncts_.size()));
  if (is_new) {
    const std::size_t classes = automaton_.class_count();
    conjuncts_.push_back({conjunct,
                          automaton_.row(conjunct),
                          automaton_.accepting(conjunct),
                          automaton_.completion_bound(conjunct),
                          std::vector<ConjunctSet>(classes),
                          std::vector<bool>(classes),
                          {}});
  }
  return id->second;
}

void ConjunctionWalk::start(Intersection& at, ExprId state) {
  const bool is_live = state != ExprSet::kEmpty;
  at.conjuncts = is_live ? split(state) : ConjunctSet{};
  at.state = state;
  at.knows_state = true;
  at.verdict = is_live ? Verdict{true, automaton_.accepting(state), automaton_.completion_bound(state)} : Verdict{};
}

// Follows the byte to the position at a depth, on one side. Returns whether that is live.
bool ConjunctionWalk::follow(Side side, std::size_t depth) {
  const Intersection& from = path_[depth - 1].*side;
  Intersection& to = path_[depth].*side;
  to.knows_state = false;
  if (from.verdict.is_live && follow(from.conjuncts, path_[depth].byte, to.conjuncts)) {
    return find_verdict(side, depth).is_live;
  }
  to.verdict = {};
  return false;
}

// Returns whether no conjunct is dead after the byte.
bool ConjunctionWalk::follow(const ConjunctSet& conjuncts, std::uint8_t byte, ConjunctSet& after) {
  const std::uint8_t byte_class = automaton_.class_of()[byte];
  after.clear();
  for (ConjunctId id : conjuncts) {
    if (!conjuncts_[id].knows_successors[byte_class]) {
      const ExprId next = conjuncts_[id].row[byte_class];
      ConjunctSet set = next == ExprSet::kEmpty ? ConjunctSet{} : split(next);  // may move conjuncts_
      conjuncts_[id].successors[byte_class] = std::move(set);
      conjuncts_[id].knows_successors[byte_class] = true;
    }
    const ConjunctSet& next = conjuncts_[id].successors[byte_class];
    if (next.empty()) return false;
    after.insert(after.end(), next.begin(), next.end());
  }
  std::ranges::sort(after);
  after.erase(std::ranges::unique(after).begin(), after.end());
  return true;
}

const ConjunctionWalk::Verdict& ConjunctionWalk::find_verdict(Side side, std::size_t depth) {
  Intersection& at = path_[depth].*side;
  const auto [known, is_new] = verdicts_.try_emplace(at.conjuncts);
  if (is_new) known->second = decide(side, depth);
  return at.verdict = known->second;
}

ConjunctionWalk::Verdict ConjunctionWalk::decide(Side side, std::size_t depth) {
  const ConjunctSet& conjuncts = (path_[depth].*side).conjuncts;
  if (accept(conjuncts)) return {true, true, 0};
  if (conjuncts.size() == 1)
    return {true, false, conjuncts_[conjuncts[0]].completion_bound};  // entries of rows are live
  for (std::size_t k = 0; k < completions_.size(); ++k) {
    const Completion& completion = completions_[k];
    if (!std::ranges::all_of(conjuncts, [&](ConjunctId each) { return contains(each, completion); })) continue;
    const auto length = static_cast<std::uint32_t>(completion.text.size());
    if (k > 0) std::swap(completions_[k], completions_[k - 1]);
    return {true, false, length};
  }
  if (failed_searches_ < kMaxFailedSearches) {
    if (std::optional<std::string> text = find_completion(conjuncts)) {
      const auto length = static_cast<std::uint32_t>(text->size());
      if (completions_.size() == kMaxCompletions) completions_.pop_back();
      completions_.insert(completions_.begin(), {std::move(*text), completion_count_++});
      return {true, false, length};
    }
    ++failed_searches_;
  }
  const ExprId state = state_at(side, depth);
  return state == ExprSet::kEmpty ? Verdict{} : Verdict{true, false, automaton_.completion_bound(state)};
}

// Searches for a text that is in all conjuncts: best first, by the sum of the distances to acceptance.
std::optional<std::string> ConjunctionWalk::find_completion(const ConjunctSet& conjuncts) {
  constexpr std::size_t kMaxExpanded = 256;
  struct Step {
    ConjunctSet conjuncts;
    std::size_t parent;
    std::uint8_t byte;
  };
  std::vector<Step> nodes{{conjuncts, 0, 0}};
  std::unordered_set<ConjunctSet, HashSet> seen{conjuncts};
  using Entry = std::tuple<std::uint64_t, std::size_t>;  // distance, node: the later one of equal ones first
  const auto is_farther = [](const Entry& one, const Entry& other) {
    return std::get<0>(one) != std::get<0>(other) ? std::get<0>(one) > std::get<0>(other)
                                                  : std::get<1>(one) < std::get<1>(other);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(is_farther)> pending(is_farther);
  pending.emplace(distance(conjuncts), 0);
  ConjunctSet after;
  for (std::size_t expanded = 0; !pending.empty() && expanded < kMaxExpanded; ++expanded) {
    const std::size_t at = std::get<1>(pending.top());
    pending.pop();
    for (std::uint8_t byte : bytes_) {
      if (!follow(nodes[at].conjuncts, byte, after) || !seen.insert(after).second) continue;
      nodes.push_back({after, at, byte});
      if (accept(after)) {
        std::string text;
        for (std::size_t i = nodes.size() - 1; i != 0; i = nodes[i].parent) text += static_cast<char>(nodes[i].byte);
        std::ranges::reverse(text);
        return text;
      }
      pending.emplace(distance(after), nodes.size() - 1);
    }
  }
  return std::nullopt;
}

bool ConjunctionWalk::accept(const ConjunctSet& conjuncts) const {
  return std::ranges::all_of(conjuncts, [this](ConjunctId each) { return conjuncts_[each].accepting; });
}

std::uint64_t ConjunctionWalk::distance(const ConjunctSet& conjuncts) const {
  std::uint64_t total = 0;
  for (ConjunctId each : conjuncts) total += conjuncts_[each].completion_bound;
  return total;
}

bool ConjunctionWalk::contains(ConjunctId conjunct, const Completion& completion) {
  Conjunct& each = conjuncts_[conjunct];
  if (each.completions.size() <= completion.number) each.completions.resize(completion_count_);
  std::int8_t& known = each.completions[completion.number];
  if (known == 0) known = automaton_.accepting(automaton_.advance(each.state, completion.text)) ? 1 : -1;
  return known > 0;
}

ExprId ConjunctionWalk::state_at(Side side, std::size_t depth) {
  std::size_t known = depth;
  while (!(path_[known].*side).knows_state) --known;
  for (; known < depth; ++known) {
    Intersection& after = path_[known + 1].*side;
    after.state = automaton_.row((path_[known].*side).state)[automaton_.class_of()[path_[known + 1].byte]];
    after.knows_state = true;
  }
  return (path_[depth].*side).state;
}

// Allows the whole subtree at once if each of its characters leads all conjuncts back to themselves.
bool ConjunctionWalk::take_subtree(const Intersection& at, bool has_reference, std::size_t i) {
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  if (exits_ && at.verdict.accepting) return false;
  const bool is_loop = std::ranges::all_of(at.conjuncts, [&](ConjunctId each) {
    return subtree.used.is_subset_of(automaton_.self_loop_bytes(conjuncts_[each].state));
  });
  if (!is_loop) return false;
  if (exits_ && has_reference) {
    exits_->removed.emplace_back(static_cast<std::uint32_t>(i), trie_[i].next);
  }
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  builder_.note_length(saturating_add(at.verdict.completion_bound, kMaxMissing));
  return true;
}

}  // namespace detent
