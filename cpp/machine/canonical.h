// Canonical: a language and a tokenizer together: the tokens after which what was written is still the beginning of what the
// tokenizer makes of some text of the language.
//
// A row of tokens is what the tokenizer makes of its text if and only if no mark of the split is inside a token, and each two
// neighbours without a mark between them are what merging makes of the two (bpe/pairs.h). So a sequence stands in a state of
// the language, behind its last token, at a set of places of the split: one for each way to mark the text so far that may
// still come true. What follows a mark is free of what stood before it. A token without a mark before it must fit to the
// last one; a token leads to a dead end if neither the chunk can end behind it nor a token that fits goes on with it.
//
// Dead ends are told by certificates where these suffice: a text that ends the chunk and begins with a token that fits. Where
// the first one that is found does not, all continuations are searched, token by token, and what is found is remembered.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "base/hash.h"
#include "machine/token_steps.h"
#include "mask/mask_cache.h"

namespace detent {

class Canonical {
 public:
  using SetId = std::uint32_t;  // a set of places
  static constexpr std::uint32_t kNoToken = UINT32_MAX;
  static constexpr SetId kFresh = 0;
  static constexpr SetId kRefused = UINT32_MAX;

  Canonical(Automaton& automaton, std::shared_ptr<TokenSteps> steps, const Limits& limits,
            std::shared_ptr<const CancelFlag> cancel);

  const TokenSteps& steps() const { return *steps_; }

  // Each takes the state of the language, the last token (kNoToken at the start) and the set of places.
  // Whether some text of the language has a row of tokens that goes on so; true wherever `advance` leads.
  bool live(ExprId state, std::uint32_t last, SetId set);
  bool accepting(ExprId state, std::uint32_t last, SetId set);
  // Writes the row of text tokens that may follow. Cost: at the first visit of a state and place a walk over the trie.
  void fill(ExprId state, std::uint32_t last, SetId set, std::uint32_t* row);
  // The set behind `token`, which leads the language to `next`, or kRefused.
  SetId advance(ExprId next, std::uint32_t last, SetId set, std::uint32_t token);

 private:
  using PlaceId = TokenSteps::PlaceId;
  using Id = std::uint64_t;  // of a state and a place
  struct Where {
    PlaceId place;
    std::uint32_t whole;  // how far the chunk is the beginning of a token that stays whole (Encoder)
    auto operator<=>(const Where&) const = default;
  };
  struct Step {
    std::uint32_t token;
    ExprId state;
    PlaceId place;
  };
  // A text that ends a chunk.
  struct Tail {
    enum class Kind : std::uint8_t { none, found, unknown } kind = Kind::unknown;  // none: there is no such text
    std::uint32_t first = kNoToken;                                                // its first token
    std::string text;
  };
  struct Node {
    ExprId state;
    PlaceId place;
    std::uint32_t whole;
    std::uint32_t last;
    bool operator==(const Node&) const = default;
  };
  struct NodeHash {
    std::size_t operator()(const Node& node) const {
      return mix(mix(mix(std::uint64_t{node.state.value} << 32 | node.place, 1), node.whole), node.last);
    }
  };

  static Id id(ExprId state, PlaceId place) { return std::uint64_t{state.value} << 32 | place; }
  static PlaceId border(std::uint16_t marks, bool marked) { return TokenSteps::id({marks, 0, marked}); }
  SetId intern(std::vector<Where> set);

  // Whether a chunk may end before the next character, which the language then goes on from; `state` is of the marks.
  bool may_mark(ExprId state, std::uint16_t marks);
  // Whether some text goes on from there.
  bool has_text(ExprId state, PlaceId place);
  // Whether the language goes on with some text, whatever it is.
  bool goes_on(ExprId state);
  // The byte on a short way to an end, and the state behind it.
  std::pair<std::uint8_t, ExprId> towards_end(ExprId state);
  const Tail& tail(ExprId state, PlaceId place);
  Tail find_tail(ExprId state, PlaceId place);
  Tail tail_of_chunk(ExprId state, PlaceId place);
  Tail tail_to_end(ExprId state, PlaceId place);
  const std::vector<Step>& successors(ExprId state, PlaceId place);

  bool ends_chunk(const Node& node);
  // Whether the row of tokens may end in `last`, there.
  bool live(const Node& node);
  std::optional<bool> at_once(const Node& node);
  bool search(const Node& start);
  std::uint32_t whole_behind(std::uint32_t whole, std::uint32_t token) const {
    return whole == Encoder::kOff ? whole : steps_->encoder().whole_step(whole, steps_->vocabulary().bytes(token));
  }

  std::shared_ptr<const Mask> mask_of(ExprId state, const Where& where);

  Automaton& automaton_;
  std::shared_ptr<TokenSteps> steps_;
  std::mutex mutex_;
  Meter meter_;
  std::shared_ptr<const CancelFlag> cancel_;
  std::vector<std::vector<Where>> sets_;
  std::unordered_map<std::uint64_t, std::vector<SetId>> set_ids_;  // by hash
  std::unordered_map<Id, bool> texts_;
  std::unordered_map<std::uint32_t, bool> goes_on_;
  std::unordered_map<std::uint32_t, std::pair<std::uint8_t, ExprId>> towards_;
  std::unordered_map<Id, Tail> tails_;
  std::unordered_map<Id, std::vector<Step>> successors_;
  std::unordered_map<Node, bool, NodeHash> live_;
};

}  // namespace detent
