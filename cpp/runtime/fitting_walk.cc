#include "runtime/fitting_walk.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::uint32_t kNotAsked = UINT32_MAX;

}  // namespace

void FittingWalk::run(ExprId state, std::int64_t max_work, std::uint32_t* row) {
  find_tokens(state, max_work, row);
  decide_alternatives();
  std::vector<bool> seen(sets_.size()), verdicts(sets_.size());
  for (const auto& [set, token] : found_) {
    if (!seen[set]) verdicts[set] = fits(set);
    seen[set] = true;
    if (verdicts[set]) for_each_id(vocabulary_, token, [row](std::uint32_t id) { row[id >> 5] |= 1u << (id & 31); });
  }
}

// Allows whole subtrees at once, and finds the sets after the other tokens.
void FittingWalk::find_tokens(ExprId state, std::int64_t max_work, std::uint32_t* row) {
  constexpr std::size_t kMostElements = 1 << 20;  // of all sets
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const std::int64_t first_work = automaton_.work();
  alternatives_.limit_use(max_work);
  std::vector<SetId> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  AlternativeSet start = automaton_.split(state);
  const auto add_set = [this](AlternativeSet& set) { return add(set); };
  std::size_t elements = 0;
  try {
    path[0] = add(start);
    for (std::size_t i = 0; i < trie.size();) {
      const TrieNode& node = trie[i];
      const SetId at = path[node.depth];
      if (node.subtree && take_subtree(at, vocabulary_.subtrees()[node.subtree], row)) {
        i = node.next;
        continue;
      }
      const std::size_t known_sets = sets_.size();
      const std::uint8_t byte_class = automaton_.class_of()[node.byte];
      const SetId after = in_reach(alternatives_.successor(sets_, at, byte_class, add_set), i);
      if (sets_.size() > known_sets) elements += sets_[after].size() + automaton_.class_count();
      if (elements > kMostElements || automaton_.work() - first_work > max_work) return;
      if (sets_[after].empty()) {
        i = node.next;
        continue;
      }
      if (node.token != TrieNode::kNoToken) found_.push_back({after, node.token});
      path[node.depth + std::size_t{1}] = after;
      ++i;
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::limit || std::string_view(error.subject()) != "work") throw;
  }
}

FittingWalk::SetId FittingWalk::add(AlternativeSet& set) {
  if (!std::ranges::is_sorted(set)) std::ranges::sort(set);
  const SetId id = sets_.add(set);
  if (id < most_needed_.size()) return id;
  std::uint32_t most = 0;
  for (AlternativeId each : set) most = std::max(most, least_length(each));
  most_needed_.push_back(most);
  return id;
}

// The alternatives of a set that may complete in time after some token through a node: the longest of these tokens have
// few bytes left. Near the end of a budget, most alternatives need more, so that few sets are left.
FittingWalk::SetId FittingWalk::in_reach(SetId set, std::size_t node) {
  const std::uint8_t height = vocabulary_.height(node);
  const std::uint64_t most = std::uint64_t{tokens_} * vocabulary_.max_token_length() + height;
  if (most_needed_[set] <= most || height == kTallSubtree) return set;
  const auto [known, is_new] = in_reach_.try_emplace(std::uint64_t{set} << 8 | height);
  if (is_new) {
    reachable_.clear();
    for (AlternativeId each : sets_[set]) {
      if (least_length(each) <= most) reachable_.push_back(each);
    }
    known->second = add(reachable_);
  }
  return known->second;
}

std::uint32_t FittingWalk::least_length(AlternativeId id) {
  if (id.value >= least_lengths_.size()) least_lengths_.resize(id.value * 3 / 2 + 64, kNotAsked);
  std::uint32_t& known = least_lengths_[id.value];
  if (known == kNotAsked) known = automaton_.least_length(alternatives_[id].state);
  return known;
}

// Allows the whole subtree where one alternative has a loop over its characters, and completes in time after each. A
// token may end inside a character.
bool FittingWalk::take_subtree(SetId set, const Subtree& subtree, std::uint32_t* row) {
  const std::uint32_t ids = subtree.last - subtree.first;
  if (!subtree.used.is_subset_of(loop_bytes(set, ids))) return false;
  for (AlternativeId id : sets_[set]) {
    const AlternativeLoop* each = alternatives_.loop(id, ids);
    if (!each || subtree.height > each->reach || !subtree.used.is_subset_of(each->loop.bytes)) continue;
    if (saturating_add(bound_in_loop(id, *each), subtree.whole ? 0 : kMaxContinuationBytes) > tokens_) continue;
    for (std::uint32_t taken : ids_below(vocabulary_, subtree)) row[taken >> 5] |= 1u << (taken & 31);
    return true;
  }
  return false;
}

// A bound on the tokens that complete an alternative after characters of its loop.
std::uint32_t FittingWalk::bound_in_loop(AlternativeId id, const AlternativeLoop& loop) {
  const std::uint32_t bound = loop.loop.completion_bound;
  if (bound <= tokens_ || !loop.loop.keeps_all) return bound;
  return std::min(bound, distances_.tightened_bound(id, tokens_, allowance_));
}

// The bytes of the loops in a set that are known, or worth finding for a subtree of `ids` ids, and that may lead to a
// completion in time.
const ByteSet& FittingWalk::loop_bytes(SetId set, std::uint32_t ids) {
  const bool finds_all = ids >= AlternativeSets::kWorthwhile;
  if (set >= loops_.size()) loops_.resize(sets_.size());
  Loops& known = loops_[set];
  if (known.are_all_known || (known.are_known && !finds_all)) return known.bytes;
  for (AlternativeId id : sets_[set]) {
    const AlternativeLoop* each = alternatives_.loop(id, ids);
    if (each && bound_in_loop(id, *each) <= tokens_) known.bytes = known.bytes | each->loop.bytes;
  }
  known.are_known = true;
  known.are_all_known = finds_all;
  return known.bytes;
}

// Decides the alternatives of the sets of which none is known to complete in time. Searches come last; in both rounds
// those alternatives come first that complete in the fewest tokens by their bounds.
void FittingWalk::decide_alternatives() {
  lower_bounds_of_open_sets([this](AlternativeId id) { return distances_.tightened_bound(id, tokens_, allowance_); });
  lower_bounds_of_open_sets([this](AlternativeId id) {
    const auto found = distances_.completion_within({&id, 1}, tokens_, allowance_);
    return found ? found->tokens : UINT32_MAX;
  });
}

template <class Bound>
void FittingWalk::lower_bounds_of_open_sets(Bound bound) {
  if (tokens_ == 0) return;  // then an alternative completes in time if it accepts
  std::vector<bool> seen(sets_.size()), listed;
  std::vector<std::pair<std::uint32_t, AlternativeId>> open;
  for (const Found& found : found_) {
    if (seen[found.set]) continue;
    seen[found.set] = true;
    if (fits(found.set)) continue;
    for (AlternativeId id : sets_[found.set]) {
      const std::uint32_t known = bound_of(id);
      listed.resize(std::max(listed.size(), bounds_.size()));
      if (!listed[id.value]) open.emplace_back(known, id);
      listed[id.value] = true;
    }
  }
  std::ranges::sort(open);
  for (const auto& [known, id] : open) bound_of(id) = std::min(known, bound(id));
}

// A reference that is valid until another alternative is asked for.
std::uint32_t& FittingWalk::bound_of(AlternativeId id) {
  if (id.value >= bounds_.size()) bounds_.resize(id.value * 3 / 2 + 64, kNotAsked);
  std::uint32_t& known = bounds_[id.value];
  if (known == kNotAsked) known = std::min(distances_.bound(id, allowance_), kNotAsked - 1);
  return known;
}

bool FittingWalk::fits(SetId set) {
  return std::ranges::any_of(sets_[set], [this](AlternativeId id) { return bound_of(id) <= tokens_; });
}

AlternativeSet alternatives_after(Automaton& automaton, ExprId state, std::string_view bytes) {
  AlternativeSets alternatives(automaton);
  AlternativeSet set = automaton.split(state), after;
  for (char byte : bytes) {
    alternatives.find_successors(set, automaton.class_of()[static_cast<std::uint8_t>(byte)], after);
    set.swap(after);
  }
  return set;
}

}  // namespace detent
