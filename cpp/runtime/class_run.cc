#include "runtime/class_run.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/recent_states.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::uint32_t kManyNodes = 4'096;  // a walk over fewer costs less
constexpr std::uint32_t kFewOthers = 8;      // at most one token in so many has a further byte
constexpr std::int64_t kMuchWork = 4'000;    // for the rows of a run

// The bytes that a JSON string writes as they are, one character each (StringLengths).
ByteSet plain_bytes() {
  ByteSet set = ByteSet::range(' ', '~');
  set.remove('"');
  set.remove('\\');
  return set;
}

// The tokens all of whose bytes are from a set of ASCII bytes. Cost: a cache look-up; at the first call with a set, a
// walk over these tokens.
std::shared_ptr<const Mask> tokens_over(const Vocabulary& vocabulary, const ByteSet& bytes) {
  Hash128 hash{};
  for (std::uint64_t word : bytes.words()) hash = mix(hash, word);
  const Hash128 key = mask_key(hash, MaskKind::byte_class);
  MaskCache& cache = vocabulary.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) return known;
  MaskBuilder builder(vocabulary.word_count());
  const std::vector<TrieNode>& trie = vocabulary.trie();
  for (std::size_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    if (!bytes.contains(node.byte)) {
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

  // Finds the class and its run, where no state of the run accepts if `is_slice`. Returns whether there is one.
  bool find(bool is_slice) {
    if (!find_class()) return false;
    const std::int64_t first_work = automaton_.work();
    const auto& class_of = automaton_.class_of();
    ByteSet others;
    for (;;) {
      if (is_slice && automaton_.accepting(states_.back())) return false;
      const ExprId* row = automaton_.row(states_.back());
      std::optional<ExprId> next;
      for (unsigned byte = 0; byte < 256; ++byte) {
        const ExprId after = row[class_of[byte]];
        if (!bytes_.contains(static_cast<std::uint8_t>(byte))) {
          if (after != ExprSet::kEmpty) others.insert(static_cast<std::uint8_t>(byte));
        } else if (next && *next != after) {
          return false;
        } else {
          next = after;
        }
      }
      if (*next == ExprSet::kEmpty) {
        is_bounded_ = true;
        break;
      }
      if (*next == states_.back() || states_.size() > vocabulary_.max_token_length()) break;
      if (automaton_.work() - first_work > kMuchWork) return false;
      states_.push_back(*next);
    }
    return find_others(others);
  }

  void add_to(MaskBuilder& builder, ExitDelta* exits) {
    builder.copy_from(*tokens_over(vocabulary_, bytes_));
    if (is_bounded_) {
      vocabulary_.string_lengths().limit(
          static_cast<std::uint32_t>(states_.size() - 1), [&builder](auto row) { builder.retain(row); },
          [&builder](std::uint32_t id) { builder.refuse(id); });
    }
    for (std::size_t i = 1; i < states_.size(); ++i) builder.note_length(automaton_.completion_bound(states_[i]));
    for (const auto& [byte, ids] : others_) {
      for (std::uint32_t id : ids) follow(id, byte, builder, exits);
    }
    if (!exits) return;
    std::ranges::sort(exits->added);
    exits->added.erase(std::ranges::unique(exits->added).begin(), exits->added.end());
  }

  // Whether the tokens over the class are more than those that have another byte.
  bool is_worth_it() const {
    std::vector<std::uint32_t> row(vocabulary_.word_count());
    tokens_over(vocabulary_, bytes_)->add_to(row.data());
    std::size_t count = 0;
    for (std::uint32_t word : row) count += static_cast<std::size_t>(std::popcount(word));
    return count > other_count_;
  }

 private:
  // The plain bytes with a common next state, those below which the trie has most nodes.
  bool find_class() {
    static const ByteSet plain = plain_bytes();
    const ExprId* row = automaton_.row(states_[0]);
    std::vector<std::pair<ExprId, std::uint32_t>> nodes;  // by next state
    const auto next_by = [&](unsigned byte) { return row[automaton_.class_of()[byte]]; };
    for (unsigned byte = 0; byte < 128; ++byte) {
      if (!plain.contains(static_cast<std::uint8_t>(byte)) || next_by(byte) == ExprSet::kEmpty) continue;
      auto known = std::ranges::find(nodes, next_by(byte), &std::pair<ExprId, std::uint32_t>::first);
      if (known == nodes.end()) known = nodes.insert(known, {next_by(byte), 0});
      known->second += vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
    }
    const auto most = std::ranges::max_element(nodes, {}, &std::pair<ExprId, std::uint32_t>::second);
    if (most == nodes.end() || most->second < kManyNodes) return false;
    for (unsigned byte = 0; byte < 128; ++byte) {
      if (plain.contains(static_cast<std::uint8_t>(byte)) && next_by(byte) == most->first) {
        bytes_.insert(static_cast<std::uint8_t>(byte));
      }
    }
    return true;
  }

  bool find_others(const ByteSet& bytes) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (!bytes.contains(static_cast<std::uint8_t>(byte))) continue;
      const auto ids = vocabulary_.tokens_with(static_cast<std::uint8_t>(byte));
      if (!ids) return false;
      other_count_ += ids->size();
      others_.emplace_back(static_cast<std::uint8_t>(byte), *ids);
    }
    return other_count_ <= vocabulary_.size() / kFewOthers;
  }

  // Adds a token whose first byte outside the class is `byte`, if it is allowed; a token with several such bytes comes
  // once for each.
  void follow(std::uint32_t id, std::uint8_t byte, MaskBuilder& builder, ExitDelta* exits) {
    const std::string_view text = vocabulary_.bytes(id);
    std::size_t read = 0;
    while (bytes_.contains(static_cast<std::uint8_t>(text[read]))) ++read;
    if (static_cast<std::uint8_t>(text[read]) != byte || (is_bounded_ && read >= states_.size())) return;
    ExprId state = states_[std::min(read, states_.size() - 1)];
    while (read < text.size()) {
      state = automaton_.row(state)[automaton_.class_of()[static_cast<std::uint8_t>(text[read++])]];
      if (state == ExprSet::kEmpty) return;
      if (exits && automaton_.accepting(state)) exits->added.push_back(*vocabulary_.find_node(text.substr(0, read)));
    }
    builder.allow(id);
    builder.note_length(automaton_.completion_bound(state));
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  ByteSet bytes_;               // the class
  std::vector<ExprId> states_;  // after 0, 1, ... bytes of the class
  bool is_bounded_ = false;     // the last state allows no byte of the class; otherwise it leads to itself
  std::vector<std::pair<std::uint8_t, std::span<const std::uint32_t>>> others_;  // tokens by a further byte
  std::size_t other_count_ = 0;
};

}  // namespace

bool add_class_run(const Vocabulary& vocabulary, Automaton& automaton, ExprId state, MaskBuilder& builder,
                   ExitDelta* exits) {
  ClassRun run(vocabulary, automaton, state);
  if (!run.find(exits != nullptr) || !run.is_worth_it()) return false;
  run.add_to(builder, exits);
  return true;
}

}  // namespace detent
