#include "runtime/conjunction_walk.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>
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
  path_[0].conjuncts = split(state);
  if (path_[0].conjuncts.size() < 2) return false;
  if (bytes_.empty()) {
    std::vector<bool> is_seen(automaton_.class_count());
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!is_seen[class_of[byte]]) bytes_.push_back(static_cast<std::uint8_t>(byte));
      is_seen[class_of[byte]] = true;
    }
  }
  path_[0].reference = reference;
  path_[0].state = state;
  path_[0].knows_state = true;
  path_[0].verdict = {true, automaton_.accepting(state), automaton_.completion_bound(state)};
  for (std::size_t i = first; i < end;) {
    const TrieNode& node = trie_[i];
    if (is_shorter_below(vocabulary_, i, equal_below_)) {
      i = node.next;
      continue;
    }
    const std::size_t at_depth = node.depth - depth;
    const Position& at = path_[at_depth];
    Position& after = path_[at_depth + 1];
    after.reference =
        at.reference == ExprSet::kEmpty ? at.reference : automaton_.row(at.reference)[class_of[node.byte]];
    if (node.subtree && take_subtree(at, after.reference, i)) {
      i = node.next;
      continue;
    }
    after.byte = static_cast<std::uint8_t>(node.byte);
    after.knows_state = false;
    const bool is_live = follow(at.conjuncts, after.byte, after.conjuncts) && find_verdict(at_depth + 1).is_live;
    if (!is_live && after.reference == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {is_live, is_live && after.verdict.accepting},
                   {after.reference != ExprSet::kEmpty, automaton_.accepting(after.reference)});
    }
    if (!is_live) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.token != TrieNode::kNoToken) {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      builder_.note_length(after.verdict.completion_bound);
    }
    ++i;
  }
  return true;
}

// Returns whether no conjunct is dead after the byte.
bool ConjunctionWalk::follow(const std::vector<ExprId>& conjuncts, std::uint8_t byte, std::vector<ExprId>& after) {
  const std::uint8_t byte_class = automaton_.class_of()[byte];
  after.clear();
  for (ExprId conjunct : conjuncts) {
    const ExprId next = automaton_.row(conjunct)[byte_class];
    if (next == ExprSet::kEmpty) return false;
    const std::vector<ExprId>& parts = split(next);
    after.insert(after.end(), parts.begin(), parts.end());
  }
  std::ranges::sort(after);
  after.erase(std::ranges::unique(after).begin(), after.end());
  return true;
}

const std::vector<ExprId>& ConjunctionWalk::split(ExprId state) {
  const auto [known, is_new] = splits_.try_emplace(state.value);
  if (is_new) {
    known->second =
        automaton_.edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return conjuncts_of(exprs, state); });
  }
  return known->second;
}

const ConjunctionWalk::Verdict& ConjunctionWalk::find_verdict(std::size_t depth) {
  Position& at = path_[depth];
  const std::string key(reinterpret_cast<const char*>(at.conjuncts.data()), at.conjuncts.size() * sizeof(ExprId));
  const auto [known, is_new] = verdicts_.try_emplace(key);
  if (is_new) known->second = decide(depth);
  return at.verdict = known->second;
}

ConjunctionWalk::Verdict ConjunctionWalk::decide(std::size_t depth) {
  const std::vector<ExprId>& conjuncts = path_[depth].conjuncts;
  if (std::ranges::all_of(conjuncts, [this](ExprId each) { return automaton_.accepting(each); }))
    return {true, true, 0};
  for (std::size_t k = 0; k < completions_.size(); ++k) {
    const Completion& completion = completions_[k];
    if (!std::ranges::all_of(conjuncts, [&](ExprId each) { return contains(each, completion); })) continue;
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
  const ExprId state = state_at(depth);
  return state == ExprSet::kEmpty ? Verdict{} : Verdict{true, false, automaton_.completion_bound(state)};
}

// Searches for a text that is in all conjuncts: best first, by the sum of the distances to acceptance.
std::optional<std::string> ConjunctionWalk::find_completion(const std::vector<ExprId>& conjuncts) {
  constexpr std::size_t kMaxExpanded = 256;
  struct Step {
    std::vector<ExprId> conjuncts;
    std::size_t parent;
    std::uint8_t byte;
  };
  std::vector<Step> nodes{{conjuncts, 0, 0}};
  std::set<std::vector<ExprId>> seen{conjuncts};
  using Entry = std::tuple<std::uint64_t, std::size_t>;  // distance, node: the later one of equal ones first
  const auto is_farther = [](const Entry& one, const Entry& other) {
    return std::get<0>(one) != std::get<0>(other) ? std::get<0>(one) > std::get<0>(other)
                                                  : std::get<1>(one) < std::get<1>(other);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(is_farther)> pending(is_farther);
  pending.emplace(distance(conjuncts), 0);
  std::vector<ExprId> after;
  for (std::size_t expanded = 0; !pending.empty() && expanded < kMaxExpanded; ++expanded) {
    const std::size_t at = std::get<1>(pending.top());
    pending.pop();
    for (std::uint8_t byte : bytes_) {
      if (!follow(nodes[at].conjuncts, byte, after) || !seen.insert(after).second) continue;
      nodes.push_back({after, at, byte});
      if (std::ranges::all_of(after, [this](ExprId each) { return automaton_.accepting(each); })) {
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

std::uint64_t ConjunctionWalk::distance(const std::vector<ExprId>& conjuncts) {
  std::uint64_t total = 0;
  for (ExprId each : conjuncts) total += automaton_.completion_bound(each);
  return total;
}

bool ConjunctionWalk::contains(ExprId conjunct, const Completion& completion) {
  const auto [known, is_new] = contained_.try_emplace(std::uint64_t{conjunct.value} << 32 | completion.number);
  if (is_new) known->second = automaton_.accepting(automaton_.advance(conjunct, completion.text));
  return known->second;
}

ExprId ConjunctionWalk::state_at(std::size_t depth) {
  std::size_t known = depth;
  while (!path_[known].knows_state) --known;
  for (; known < depth; ++known) {
    Position& after = path_[known + 1];
    after.state = automaton_.row(path_[known].state)[automaton_.class_of()[after.byte]];
    after.knows_state = true;
  }
  return path_[depth].state;
}

// Allows the whole subtree at once if each of its characters leads all conjuncts back to themselves.
bool ConjunctionWalk::take_subtree(const Position& at, ExprId reference_next, std::size_t i) {
  const Subtree& subtree = vocabulary_.subtrees()[trie_[i].subtree];
  if (exits_ && at.verdict.accepting) return false;
  const bool is_loop = std::ranges::all_of(
      at.conjuncts, [&](ExprId each) { return subtree.used.is_subset_of(automaton_.self_loop_bytes(each)); });
  if (!is_loop) return false;
  if (exits_ && reference_next != ExprSet::kEmpty) {
    exits_->removed.emplace_back(static_cast<std::uint32_t>(i), trie_[i].next);
  }
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  builder_.note_length(saturating_add(at.verdict.completion_bound, kMaxMissing));
  return true;
}

}  // namespace detent
