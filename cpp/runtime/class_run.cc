#include "runtime/class_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/recent_states.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::uint32_t kManyNodes = 4'096;  // a walk over fewer costs less
constexpr std::size_t kFewOthers = 32;       // at most one trie node in kFewOthers has a further byte
constexpr std::int64_t kMuchWork = 4'000;    // on the rows of a run

// The ASCII bytes that a JSON string does not escape: each counts as one character in StringLengths.
ByteSet plain_bytes() {
  ByteSet set = ByteSet::range(' ', '~');
  set.remove('"');
  set.remove('\\');
  return set;
}

// The tokens whose characters all begin with a byte of `bytes`, ASCII bytes and lead bytes; the last character may be
// incomplete. Cost: a cache look-up; at the first call with a set, a walk over these tokens.
std::shared_ptr<const Mask> tokens_over(const Vocabulary& vocabulary, const ByteSet& bytes) {
  Hash128 hash{};
  for (std::uint64_t word : bytes.words()) hash = mix(hash, word);
  const Hash128 key = mask_key(hash, MaskKind::byte_class);
  MaskCache& cache = vocabulary.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) return known;
  MaskBuilder builder(vocabulary.word_count());
  const std::vector<TrieNode>& trie = vocabulary.trie();
  std::vector<Utf8Position> path(vocabulary.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  for (std::size_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    const Utf8Position before = path[node.depth];
    const Utf8Position after = before.after(static_cast<std::uint8_t>(node.byte));
    if (!after.valid || (before.remaining == 0 && !bytes.contains(node.byte))) {
      i = node.next;
      continue;
    }
    if (node.subtree) {
      const Subtree& subtree = vocabulary.subtrees()[node.subtree];
      if (subtree.used.is_subset_of(bytes)) {
        builder.allow(vocabulary.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
        i = node.next;
        continue;
      }
    }
    for_each_id(vocabulary, node.token, [&builder](std::uint32_t id) { builder.allow(id); });
    path[node.depth + std::size_t{1}] = after;
    ++i;
  }
  std::shared_ptr<const Mask> mask = builder.finish();
  cache.insert(key, mask, MaskCache::Kind::reference);
  return mask;
}

class ClassRun {
 public:
  ClassRun(const Vocabulary& vocabulary, Automaton& automaton, ExprId state)
      : vocabulary_(vocabulary), automaton_(automaton), states_{state} {}

  // Finds the class and its run; returns whether there is one. If `is_slice`, no state of the run may accept.
  bool find(bool is_slice) {
    if (!find_states(is_slice)) return false;
    if (!is_bounded_) widen_class();
    return find_others() && is_worth_it();
  }

  void add_to(MaskBuilder& builder, ExitDelta* exits) {
    builder.copy_from(*tokens_over(vocabulary_, bytes_));
    if (is_bounded_) {
      vocabulary_.string_lengths().limit(
          static_cast<std::uint32_t>(states_.size() - 1), [&builder](auto row) { builder.retain(row); },
          [&builder](std::uint32_t id) { builder.refuse(id); });
    }
    const std::uint32_t inside = is_bounded_ ? 0 : kMaxContinuationBytes;  // a token may end inside a character
    for (std::size_t i = states_.size() > 1 ? 1 : 0; i < states_.size(); ++i) {
      builder.note_length(saturating_add(automaton_.completion_bound(states_[i]), inside));
    }
    const ReferenceMask none;
    ReferenceWalk walk(vocabulary_, automaton_, none, builder, exits, TokenCheck::none);
    for (std::uint32_t node : others_) {
      if (const std::optional<ExprId> before = state_before(node)) walk.run_from(*before, node);
    }
    if (exits) std::ranges::sort(exits->added);
  }

 private:
  // Follows the class from the start. Where its bytes lead to several states, the class keeps only the bytes that lead
  // to one of these: the one with the most trie nodes below its bytes.
  bool find_states(bool is_slice) {
    const std::int64_t first_work = automaton_.work();
    bytes_ = plain_bytes();
    while (automaton_.work() - first_work <= kMuchWork) {
      if (is_slice && automaton_.accepting(states_.back())) return false;
      const auto [after, node_count] = narrow_class(states_.back());
      if (states_.size() == 1 && (after == ExprSet::kEmpty || node_count < kManyNodes)) return false;
      is_bounded_ = after == ExprSet::kEmpty;
      if (is_bounded_ || after == states_.back() || states_.size() > vocabulary_.max_token_length()) return true;
      states_.push_back(after);
    }
    return false;
  }

  // Removes all bytes that do not lead to the most frequent next state. Returns this state, and the number of trie
  // nodes below the remaining bytes.
  std::pair<ExprId, std::uint32_t> narrow_class(ExprId state) {
    std::vector<std::pair<ExprId, std::uint32_t>> nodes;  // by next state
    const ExprId* const row = automaton_.row(state);
    const auto& class_of = automaton_.class_of();
    for (unsigned byte = 0; byte < 128; ++byte) {
      if (!bytes_.contains(static_cast<std::uint8_t>(byte))) continue;
      const ExprId after = row[class_of[byte]];
      auto known = std::ranges::find(nodes, after, &std::pair<ExprId, std::uint32_t>::first);
      if (known == nodes.end()) known = nodes.insert(known, {after, 0});
      known->second += vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
    }
    const bool is_start = states_.size() == 1;
    if (is_start) std::erase_if(nodes, [](const auto& each) { return each.first == ExprSet::kEmpty; });
    const auto most = std::ranges::max_element(nodes, {}, &std::pair<ExprId, std::uint32_t>::second);
    if (most == nodes.end()) return {ExprSet::kEmpty, 0};
    for (unsigned byte = 0; byte < 128; ++byte) {
      if (row[class_of[byte]] != most->first) bytes_.remove(static_cast<std::uint8_t>(byte));
    }
    return *most;
  }

  // Adds the other characters that lead every state of the run to its last one, which is a loop.
  void widen_class() {
    const ExprId last = states_.back();
    const ExprId* const last_row = automaton_.row(last);
    std::array<bool, 256> differs{};  // by byte class
    for (ExprId state : states_) {
      const ExprId* const row = automaton_.row(state);
      for (std::uint32_t i = 0; i < automaton_.class_count(); ++i) differs[i] |= row[i] != last_row[i];
    }
    const ByteSet& loop = automaton_.self_loop_bytes(last);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool is_same = !differs[automaton_.class_of()[byte]];
      if (is_same && loop.contains(static_cast<std::uint8_t>(byte))) bytes_.insert(static_cast<std::uint8_t>(byte));
    }
  }

  // Finds the trie nodes of the further bytes, which are not in the class but allowed by some state of the run. Returns
  // false if these are many.
  bool find_others() {
    const std::size_t most = vocabulary_.trie().size() / kFewOthers;
    std::array<bool, 256> is_live{};  // by byte class
    for (ExprId state : states_) {
      const ExprId* const row = automaton_.row(state);
      for (std::uint32_t i = 0; i < automaton_.class_count(); ++i) is_live[i] |= row[i] != ExprSet::kEmpty;
    }
    for (std::uint8_t byte : vocabulary_.bytes_by_count()) {
      if (bytes_.contains(byte) || !is_live[automaton_.class_of()[byte]]) continue;
      const auto nodes = vocabulary_.nodes_with(byte, 0, vocabulary_.trie().size());
      if (others_.size() + nodes.size() > most) return false;
      others_.insert(others_.end(), nodes.begin(), nodes.end());
    }
    return true;
  }

  // Whether there are more tokens over the class than nodes of further bytes.
  bool is_worth_it() const {
    std::vector<std::uint32_t> row(vocabulary_.word_count());
    tokens_over(vocabulary_, bytes_)->add_to(row.data());
    std::size_t count = 0;
    return std::ranges::any_of(row, [&](std::uint32_t word) {
      count += static_cast<std::size_t>(std::popcount(word));
      return count > others_.size();
    });
  }

  // The state before the byte of a node; nothing if some character before it is not in the class.
  std::optional<ExprId> state_before(std::uint32_t node) {
    const std::size_t depth = vocabulary_.trie()[node].depth;
    const std::string_view text = vocabulary_.text_of_node(node).substr(0, depth);
    bool is_ascii = true;
    for (char each : text) {
      const auto byte = static_cast<std::uint8_t>(each);
      const bool is_inside = (byte & 0xC0) == 0x80;
      if (!is_inside && !bytes_.contains(byte)) return std::nullopt;
      is_ascii &= byte < 0x80;
    }
    if (!is_ascii) {
      ExprId state = states_[0];  // by rows: Automaton::advance would pair the state with the text of a list's item
      for (char each : text) {
        state = automaton_.row(state)[automaton_.class_of()[static_cast<std::uint8_t>(each)]];
        if (state == ExprSet::kEmpty) return std::nullopt;
      }
      return state;
    }
    if (depth < states_.size()) return states_[depth];
    return is_bounded_ ? std::nullopt : std::optional(states_.back());
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  ByteSet bytes_;                      // the class: ASCII bytes and lead bytes
  std::vector<ExprId> states_;         // after 0, 1, ... characters of the class
  bool is_bounded_ = false;            // the last state allows no character of the class; otherwise it leads to itself
  std::vector<std::uint32_t> others_;  // the nodes of further bytes
};

}  // namespace

bool add_class_run(const Vocabulary& vocabulary, Automaton& automaton, ExprId state, MaskBuilder& builder,
                   ExitDelta* exits) {
  ClassRun run(vocabulary, automaton, state);
  if (!run.find(exits != nullptr)) return false;
  run.add_to(builder, exits);
  return true;
}

}  // namespace detent
