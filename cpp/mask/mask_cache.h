// MaskCache: the token masks of a vocabulary, keyed by the structural hash of the state that they belong to, so that
// guides share them: the inside of a quoted string is classified once a vocabulary, not once a pattern.
// Bounded in bytes; the least recently used masks go first. Safe for any number of threads.
// Cost: a look-up is one hash probe under a lock of its shard.
//
// A fragment is the mask of the beginning of a state, such as the rest of a string up to its quotation mark: it knows
// the tokens that stay inside, and what is left of those that leave it. Every state that begins so is made from it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace detent {

// What is left of the tokens that leave a fragment, as a trie, depth first.
struct ContextDependentTokens {
  struct Node {
    std::uint32_t next;         // the first node behind this one's subtree
    std::uint32_t first, last;  // ids[first..last) end here
    std::uint32_t depth : 24;
    std::uint32_t byte : 8;
  };
  struct TokenSuffix {
    std::string_view text;  // of the token, behind the place where it leaves
    std::uint32_t id;
    std::uint32_t place;  // the first trie node behind that place
    auto operator<=>(const TokenSuffix&) const = default;
  };
  std::vector<Node> nodes;
  std::vector<std::uint32_t> ids;
  std::vector<TokenSuffix> suffixes;  // sorted; the vocabulary keeps the texts
  std::vector<std::uint32_t> exits;   // the trie nodes that lead to where tokens leave, ascending

  // From sorted suffixes.
  static std::shared_ptr<const ContextDependentTokens> of(std::vector<TokenSuffix> suffixes,
                                                          std::vector<std::uint32_t> exits);
  std::size_t bytes() const {
    return nodes.size() * sizeof(Node) + (ids.size() + exits.size()) * sizeof(std::uint32_t) +
           suffixes.size() * sizeof(TokenSuffix);
  }
};

// The text tokens that a state allows: those of another mask, if it has one, and its own as bits, or as ids where these
// are few. Immutable.
class Mask {
 public:
  // Overwrites a row of `count` words.
  void write(std::uint32_t* row, std::size_t count) const;
  // Calls visit(id) for each.
  template <class Visit>
  void each(Visit visit) const {
    if (base_) base_->each(visit);
    for (std::uint32_t id : ids_) visit(id);
    for (std::uint32_t i = 0; i < words_.size(); ++i) {
      for (std::uint32_t word = words_[i]; word != 0; word &= word - 1) {
        visit(i * 32 + static_cast<std::uint32_t>(std::countr_zero(word)));
      }
    }
  }
  // Adds to a row.
  void add_to(std::uint32_t* row) const;
  std::size_t bytes() const {
    return sizeof(Mask) + (words_.size() + ids_.size()) * sizeof(std::uint32_t) +
           (context_dependent_ ? context_dependent_->bytes() : 0);
  }
  const std::shared_ptr<const ContextDependentTokens>& context_dependent() const {
    return context_dependent_;
  }  // of a fragment
  // The most bytes that an end takes, by some way, behind any of the tokens.
  std::uint32_t max_completion_bound() const { return max_completion_bound_; }

 private:
  friend class MaskBuilder;
  void add_own_to(std::uint32_t* row) const;
  std::shared_ptr<const Mask> base_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint32_t> ids_;
  std::shared_ptr<const ContextDependentTokens> context_dependent_;
  std::uint32_t max_completion_bound_ = 0;
};

// Collects the tokens of a mask. A thread builds one mask at a time.
class MaskBuilder {
 public:
  explicit MaskBuilder(std::size_t word_count) : word_count_(word_count) {}

  void allow(std::uint32_t id) {
    if (dense_) {
      words()[id >> 5] |= 1u << (id & 31);
    } else {
      ids_.push_back(id);
      if (ids_.size() > word_count_ / 4) make_dense();
    }
  }
  void allow(const std::uint32_t* ids, std::size_t count);
  void note_length(std::uint32_t length) { max_completion_bound_ = std::max(max_completion_bound_, length); }
  // Takes an id away; only from what was added by copy_from and allow.
  void refuse(std::uint32_t id) { words()[id >> 5] &= ~(1u << (id & 31)); }
  // Starts from the tokens of another mask; nothing must have been allowed yet.
  void copy_from(const Mask& mask);
  // Adds the tokens of a mask that lives on, without copying them if it is the first.
  void add(std::shared_ptr<const Mask> mask);

  std::shared_ptr<const Mask> finish(std::shared_ptr<const ContextDependentTokens> crossing = nullptr);

 private:
  std::uint32_t* words();
  void make_dense();

  std::size_t word_count_;
  bool dense_ = false;
  std::vector<std::uint32_t> ids_;
  std::shared_ptr<const Mask> base_;
  std::uint32_t max_completion_bound_ = 0;
};

class MaskCache {
 public:
  explicit MaskCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  std::size_t limit_bytes() const { return limit_bytes_; }

  // What is looked for: a state's mask, a fragment of one, or one to begin another from.
  enum class Kind : std::uint8_t { mask, slice, reference };
  struct Counts {
    std::uint64_t found = 0, made = 0;
  };

  std::shared_ptr<const Mask> find(const Hash128& key, Kind kind = Kind::mask);
  void insert(const Hash128& key, std::shared_ptr<const Mask> mask, Kind kind = Kind::mask);
  std::size_t bytes();
  Counts counts(Kind kind);  // since the vocabulary was made

 private:
  struct Entry {
    Hash128 key;
    std::shared_ptr<const Mask> mask;
  };
  struct KeyHash {
    std::size_t operator()(const Hash128& key) const { return key.low; }
  };
  struct Shard {
    std::mutex mutex;
    std::list<Entry> recent;  // most recently used first
    std::unordered_map<Hash128, std::list<Entry>::iterator, KeyHash> places;
    std::size_t bytes = 0;
    std::array<Counts, 3> counts;  // by kind
  };
  static constexpr std::size_t kShards = 8;
  // What an entry costs beside its mask: list node, table node and bucket.
  static constexpr std::size_t kEntryBytes = 128;

  Shard& shard(const Hash128& key) { return shards_[key.high % kShards]; }

  std::size_t limit_bytes_;
  std::array<Shard, kShards> shards_;
};

}  // namespace detent
