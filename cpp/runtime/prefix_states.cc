#include "runtime/prefix_states.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "base/fork_guard.h"

namespace detent {

namespace {

// The states of a walk by the order of their discovery, with the successors that were asked for. Most tokens of a
// string with a pattern are visited one by one, where a look-up in one table counts.
class NumberedStates {
 public:
  using Number = std::uint16_t;
  static constexpr Number kDead = UINT16_MAX;
  static constexpr Number kUnknown = kDead - 1;
  static constexpr std::size_t kMost = 4096;  // of 512 bytes each

  NumberedStates(Automaton& automaton, ExprId first) : automaton_(automaton) { number_of(first); }

  bool too_many() const { return states_.size() > kMost; }
  ExprId operator[](Number number) const { return states_[number]; }
  Number known(Number from, std::uint8_t byte) const { return successors_[from * kBytes + byte]; }
  // The successor where it is not known.
  Number find(Number from, std::uint8_t byte) {
    const ExprId next = automaton_.row(states_[from])[automaton_.class_of()[byte]];
    const Number number = next == ExprSet::kEmpty ? kDead : number_of(next);
    return successors_[from * kBytes + byte] = number;
  }

 private:
  static constexpr std::size_t kBytes = 256;

  Number number_of(ExprId state) {
    const auto [entry, is_new] = numbers_.try_emplace(state.value, static_cast<Number>(states_.size()));
    if (is_new) {
      states_.push_back(state);
      successors_.resize(successors_.size() + kBytes, kUnknown);
    }
    return entry->second;
  }

  Automaton& automaton_;
  std::vector<ExprId> states_;
  std::vector<Number> successors_;  // by number and byte
  std::unordered_map<std::uint32_t, Number> numbers_;
};

// Finds the states after the tokens, as far as they are few.
class PrefixWalk {
 public:
  PrefixWalk(const Vocabulary& vocabulary, Automaton& automaton, ExprId prefix, WalkLimit& limit)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        limit_(limit),
        states_(automaton, prefix),
        index_of_(NumberedStates::kMost + 1, PrefixStates::kLeaves),
        path_(vocabulary.max_token_length() + std::size_t{1}) {
    found_.state_of.assign(vocabulary.size() + std::size_t{1}, PrefixStates::kLeaves);
  }

  PrefixStates run() {
    const std::vector<TrieNode>& trie = vocabulary_.trie();
    const std::uint32_t nowhere = vocabulary_.size();  // the entry of nodes without a token: half of all have none
    // Stores of bytes may alias all members, but none of these.
    std::uint8_t* const state_of = found_.state_of.data();
    const std::uint8_t* const index_of = index_of_.data();
    Number* const path = path_.data();
    const TrieNode* const first = trie.data();
    const TrieNode* const end = first + trie.size();
    for (const TrieNode* node = first; node != end;) {
      const std::uint32_t depth = node->depth, token = node->token;
      const Number at = path[depth];
      Number next = states_.known(at, static_cast<std::uint8_t>(node->byte));
      if (next == NumberedStates::kUnknown) {
        next = find(at, static_cast<std::uint8_t>(node->byte));
        if (found_.too_many) break;
      }
      const bool is_large = node->next - static_cast<std::uint32_t>(node - first) >= kManyNodes;
      if (next == NumberedStates::kDead || (is_large && next == at && take_subtree(node->subtree, next))) {
        node = first + node->next;
        continue;
      }
      path[depth + 1] = next;
      const bool is_shared = token - TrieNode::kShared < TrieNode::kNoToken - TrieNode::kShared;
      std::uint8_t index = index_of[next];
      if (index == PrefixStates::kLeaves && token != TrieNode::kNoToken) {
        index = add(next, is_shared ? vocabulary_.shared_ids(token)[0] : token);
        if (found_.too_many) break;
      }
      state_of[std::min(token, nowhere)] = index;
      if (is_shared) {
        for (std::uint32_t id : vocabulary_.shared_ids(token)) state_of[id] = index;
      }
      ++node;
    }
    if (found_.too_many) return {{}, {}, true};
    found_.state_of.pop_back();
    return std::move(found_);
  }

 private:
  using Number = NumberedStates::Number;
  static constexpr std::uint32_t kManyNodes = 64;  // of a subtree; fewer are visited before they are taken at once

  Number find(Number at, std::uint8_t byte) {
    limit_.check();
    const Number next = states_.find(at, byte);
    found_.too_many |= states_.too_many();
    return next;
  }

  // Takes a subtree all of whose tokens lead the state to itself.
  bool take_subtree(std::uint32_t number, Number state) {
    if (number == 0) return false;
    const Subtree& subtree = vocabulary_.subtrees()[number];
    if (!subtree.whole || !subtree.used.is_subset_of(automaton_.self_loop_bytes(states_[state]))) return false;
    const auto ids = std::span(vocabulary_.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
    const std::uint8_t index = index_of_[state] == PrefixStates::kLeaves ? add(state, ids[0]) : index_of_[state];
    for (std::uint32_t id : ids) found_.state_of[id] = index;
    return true;
  }

  // Adds a state to which `token` leads.
  std::uint8_t add(Number state, std::uint32_t token) {
    const auto index = static_cast<std::uint8_t>(found_.examples.size());
    found_.examples.push_back(token);
    found_.too_many |= found_.examples.size() >= PrefixStates::kLeaves;
    return index_of_[state] = index;
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  WalkLimit& limit_;
  NumberedStates states_;
  PrefixStates found_;                  // with one more entry: for nodes without a token
  std::vector<std::uint8_t> index_of_;  // by number: the index in found_, or kLeaves
  std::vector<Number> path_;            // by depth
};

}  // namespace

PrefixStates PrefixStates::of(const Vocabulary& vocabulary, Automaton& automaton, ExprId prefix, WalkLimit& limit) {
  return PrefixWalk(vocabulary, automaton, prefix, limit).run();
}

std::shared_ptr<const PrefixStates> RecentPrefixStates::find(const Hash128& prefix) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(known_, prefix, [](const auto& each) { return each.first; });
  return known == known_.end() ? nullptr : known->second;
}

std::shared_ptr<const PrefixStates> RecentPrefixStates::add(const Hash128& prefix, PrefixStates states) {
  auto added = std::make_shared<const PrefixStates>(std::move(states));
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (known_.size() == kMost) known_.pop_front();
  known_.emplace_back(prefix, added);
  return added;
}

}  // namespace detent
