#include "runtime/alternative_search.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/alternative_sets.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

class AlternativeSearch {
 public:
  AlternativeSearch(const Vocabulary& vocabulary, Automaton& automaton, std::int64_t max_work)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        alternatives_(automaton),
        max_visited_(std::min(max_work, INT64_MAX / kVisitsPerStep) * kVisitsPerStep) {}

  std::optional<std::vector<std::uint32_t>> run(ExprId state) {
    for (AlternativeId id : automaton_.split(state)) {
      if (add(id, 0, 0)) return std::vector<std::uint32_t>{};
    }
    first_count_ = found_.size();
    for (std::size_t i = 0; i < found_.size() && !is_over(); ++i) {
      if (expand(i)) return path();
    }
    return std::nullopt;
  }

 private:
  static constexpr std::int64_t kVisitsPerStep = 45;  // a step of the automaton costs as much as so many visits

  struct Found {
    AlternativeId id;
    std::size_t before;
    std::uint32_t token;
  };

  // Returns whether the alternative accepts.
  bool add(AlternativeId id, std::size_t before, std::uint32_t token) {
    if (!seen_.insert(id.value).second) return false;
    found_.push_back({id, before, token});
    return alternatives_[id].accepting;
  }

  bool is_over() const { return visited_ + kVisitsPerStep * (automaton_.work() - work_before_) > max_visited_; }

  // Finds the alternatives that one token leads to from the alternative `index`. Returns whether one of them accepts.
  bool expand(std::size_t index) {
    const std::vector<TrieNode>& trie = vocabulary_.trie();
    const auto& class_of = automaton_.class_of();
    path_.resize(vocabulary_.max_token_length() + std::size_t{1});
    path_[0] = {found_[index].id};
    for (std::uint32_t i = 0; i < trie.size() && !is_over();) {
      const TrieNode& node = trie[i];
      AlternativeSet& after = path_[node.depth + std::size_t{1}];
      alternatives_.find_successors(path_[node.depth], class_of[node.byte], after);
      alternatives_.drop_included(after);
      visited_ += 1 + static_cast<std::int64_t>(path_[node.depth].size());
      if (after.empty()) {
        i = node.next;
        continue;
      }
      std::uint32_t token = node.token;
      if (token != TrieNode::kNoToken && (token & TrieNode::kShared)) token = vocabulary_.shared_ids(token)[0];
      if (token != TrieNode::kNoToken) {
        for (AlternativeId id : after) {
          if (add(id, index, token)) return true;
        }
      }
      ++i;
    }
    return false;
  }

  std::vector<std::uint32_t> path() const {
    std::vector<std::uint32_t> tokens;
    for (std::size_t at = found_.size() - 1; at >= first_count_; at = found_[at].before) {
      tokens.push_back(found_[at].token);
    }
    std::ranges::reverse(tokens);
    return tokens;
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  AlternativeSets alternatives_;
  std::int64_t max_visited_;
  std::int64_t visited_ = 0;  // alternatives, each time that one is followed
  std::int64_t work_before_ = automaton_.work();
  std::vector<Found> found_;
  std::size_t first_count_ = 0;  // the alternatives of the state itself, which no token led to
  std::unordered_set<std::uint32_t> seen_;
  std::vector<AlternativeSet> path_;  // by depth
};

}  // namespace

std::optional<std::vector<std::uint32_t>> search_by_alternatives(const Vocabulary& vocabulary, Automaton& automaton,
                                                                 ExprId state, std::int64_t max_work) {
  return AlternativeSearch(vocabulary, automaton, max_work).run(state);
}

}  // namespace detent
