#include "runtime/alternative_search.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/alternative_sets.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

class AlternativeSearch {
 public:
  AlternativeSearch(const Vocabulary& vocabulary, Automaton& automaton, Meter& meter)
      : vocabulary_(vocabulary), automaton_(automaton), meter_(meter), alternatives_(automaton) {}

  std::vector<std::uint32_t> run(ExprId state) {
    for (AlternativeId id : automaton_.split(state)) {
      if (add(id, 0, 0)) return {};
    }
    first_count_ = found_.size();
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (expand(i)) return path();
    }
    return {};  // only if the state was dead
  }

 private:
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

  // Finds the alternatives one token after another one. Returns whether one of them accepts.
  bool expand(std::size_t index) {
    const std::vector<TrieNode>& trie = vocabulary_.trie();
    const auto& class_of = automaton_.class_of();
    path_.resize(vocabulary_.max_token_length() + std::size_t{1});
    path_[0] = {found_[index].id};
    std::int64_t visited = 0;
    for (std::uint32_t i = 0; i < trie.size();) {
      const TrieNode& node = trie[i];
      AlternativeSet& after = path_[node.depth + std::size_t{1}];
      alternatives_.find_successors(path_[node.depth], class_of[node.byte], after);
      alternatives_.drop_included(after);
      if (++visited % 4096 == 0) meter_.step(4096 / 8);
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
  Meter& meter_;
  AlternativeSets alternatives_;
  std::vector<Found> found_;
  std::size_t first_count_ = 0;  // the alternatives of the state itself, which no token led to
  std::unordered_set<std::uint32_t> seen_;
  std::vector<AlternativeSet> path_;  // by depth
};

}  // namespace

std::vector<std::uint32_t> search_by_alternatives(const Vocabulary& vocabulary, Automaton& automaton, ExprId state,
                                                  Meter& meter) {
  return AlternativeSearch(vocabulary, automaton, meter).run(state);
}

}  // namespace detent
