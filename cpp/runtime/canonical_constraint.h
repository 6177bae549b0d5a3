// CanonicalConstraint: a language and a tokenizer together: the tokens after which what was written is still the
// beginning of what the tokenizer makes of some text of the language.
//
// A row of tokens is what the tokenizer makes of its text if and only if no mark of the split is inside a token, and
// each two neighbours without a mark between them are what merging makes of the two (bpe/adjacency.h). So a sequence
// stands in a state of the language, behind its last token, at a set of places of the split: one for each way to mark
// the text so far that may still come true. What follows a mark is free of what stood before it. A token without a mark
// before it must fit to the last one; a token leads to a dead end if neither the chunk can end behind it nor a token
// that fits goes on with it.
//
// Dead ends are told by certificates where these suffice: a text that ends the chunk and begins with a token that fits.
// Where the first one that is found does not, all continuations are searched, token by token, and what is found is
// remembered.
//
// A special token that the language asks for cuts the text: what stands before it is tokenized by itself, and so is
// what stands behind it. So it is a token that is free where the text may end, and leads to where a text begins. To
// what follows, "the end" below is that of all the text, special tokens included.
//
// What tells that a place is no dead end also gives its *end*: a row of tokens that completes the text from there. It
// is the same whatever was asked before, and need not be the one of the fewest tokens. Budgets count by it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "automaton/automaton.h"
#include "base/hash.h"
#include "mask/mask_cache.h"
#include "runtime/mask_computer.h"
#include "runtime/pretoken_transitions.h"
#include "runtime/trie_walk.h"

namespace detent {

class CanonicalConstraint {
 public:
  using PositionSetId = std::uint32_t;  // a set of places
  static constexpr std::uint32_t kNoToken = UINT32_MAX;
  static constexpr PositionSetId kTextStart = 0;
  static constexpr PositionSetId kRefused = UINT32_MAX;
  static constexpr std::uint32_t kInfinite = UINT32_MAX;  // as a length

  CanonicalConstraint(Automaton& automaton, MaskComputer& masks, std::shared_ptr<PretokenTransitions> steps,
                      const Limits& limits, std::shared_ptr<const CancelFlag> cancel);

  const PretokenTransitions& steps() const { return *steps_; }

  // The last token and the set of places.
  struct Context {
    std::uint32_t last = kNoToken;
    PositionSetId set = kTextStart;
  };
  // Where a text of the language from `state` on stands that continues a prompt. What is no text, such as a special
  // token, and what the tokenizer would not write so, cut the prompt: what is behind the last cut counts. The set is
  // kRefused if no text of the language goes on there.
  Context start(ExprId state, std::span<const std::uint32_t> prompt);

  bool accepting(ExprId state, const Context& at);
  // Writes the row of text tokens that may follow, or only those behind which the end takes at most `tokens_after`.
  // Returns whether that may have taken any away. Cost: at the first visit of a state and place a walk over the trie.
  bool fill(ExprId state, const Context& at, std::uint32_t* row, std::uint32_t tokens_after = kInfinite);
  // The place behind `token`, which leads the language to `next`; its set is kRefused if the token may not follow.
  Context step(ExprId next, const Context& at, std::uint32_t token);
  // The tokenizer's own row for a text, special tokens included.
  std::vector<std::uint32_t> encode(std::string_view text) const;

  // The end of a live place, and its length.
  std::vector<std::uint32_t> completion(ExprId state, const Context& at);
  std::uint32_t completion_length(ExprId state, const Context& at);

 private:
  using PlaceId = PretokenTransitions::PlaceId;
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
    std::string text;         // without a split: what the row to the end comes behind
    std::uint32_t bytes = 0;  // of it
    ExprId state{};           // behind it
    std::uint16_t marks = 0;
    std::uint32_t length = kInfinite;  // in tokens, once it was asked for
  };
  // A few that begin with different tokens, or one that is no text.
  struct Tails {
    std::vector<Tail> texts;
    bool all = true;  // every text of their lengths ends the chunk, and no shorter one could end the language
  };
  static constexpr std::size_t kTails = 4;
  // Without a split: the row of a text that ends the chunk, straight on from a place; tokens 0 where this is the end.
  struct Row {
    std::uint32_t first = kNoToken;
    ExprId state{};  // behind the first token
    PlaceId place = 0;
    std::uint32_t tokens = kInfinite;  // kInfinite: there is no such row
    std::uint32_t bytes = 0;
    ExprId end{};  // the state behind all of it, and the marks
    std::uint16_t marks = 0;
  };
  // A character that is written in byte pieces, which fit to all tokens, and then the straight end; without a split.
  struct Apart {
    std::string character;
    std::uint32_t length = kInfinite;  // in bytes, of both; kInfinite: none was found
    bool whatever_follows = true;      // the state
  };
  static constexpr std::size_t kAparts = 64;
  // How long a text is that ends the language behind a mark; a special token counts as a byte.
  struct Length {
    std::uint32_t bytes, tokens;
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

  class EndsBehind;
  class SureEnds;

  static Id id(ExprId state, PlaceId place) { return std::uint64_t{state.value} << 32 | place; }
  static PlaceId border(std::uint16_t marks, bool marked) { return PretokenTransitions::id({marks, 0, marked}); }
  PositionSetId intern(std::vector<Where> set);
  // The places behind a token, whatever the language.
  std::vector<Where> behind(const std::vector<Where>& set, std::uint32_t last, std::uint32_t token) const;
  // Called as a search grows to that size.
  void grow(std::size_t size);

  // Whether a chunk may end before the next character, which the language then goes on from; `state` is of the marks.
  bool may_mark(ExprId state, std::uint16_t marks);
  // Whether some text goes on from there.
  bool has_text(ExprId state, PlaceId place);
  // Whether the language goes on with some text, whatever it is.
  bool goes_on(ExprId state);
  // The byte on a short way to an end, and the state behind it.
  std::pair<std::uint8_t, ExprId> towards_end(ExprId state);
  // The length in bytes of the text that this way is, a special token as one, or kInfinite if it is none.
  std::uint32_t straight(ExprId state);
  // A text that ends the language behind a chunk that may end there.
  std::string end_text(ExprId state, std::uint16_t marks);
  // Such a text by a search among fewer than `limit` beginnings; if there is a limit, only one that is found whatever
  // follows the state.
  std::optional<std::string> search_end(ExprId state, std::uint16_t marks, std::size_t limit);
  static constexpr std::size_t kSureEnds = 256;
  std::optional<std::string> straight_text(ExprId state, std::uint16_t marks);
  const Length& end_of(ExprId state, std::uint16_t marks);
  // Whether this text is the straight one, whatever follows `state`, which does not accept.
  bool ends_straight(ExprId state, std::uint16_t marks);
  // At least the bytes of that text as far as `state` tells, whatever follows it, or kInfinite if it does not.
  std::uint32_t sure_end(ExprId state, std::uint16_t marks);
  // At least the tokens of that text.
  std::uint32_t reach(ExprId state, std::uint16_t marks);
  Tails& tails(ExprId state, PlaceId place);
  Tails tails_of_chunk(ExprId state, PlaceId place);
  std::uint32_t first_token(const std::string& text);
  Tails tails_to_end(ExprId state, PlaceId place);
  const Apart& apart(ExprId state);
  std::uint32_t apart_length(ExprId state, PlaceId place);
  Row row_to_end(ExprId state, PlaceId place);
  std::optional<Row> known_row(ExprId state, PlaceId place);
  std::vector<std::uint32_t> tokens_to_end(const Node& node, const Tail& tail);
  std::pair<ExprId, PlaceId> walk_text(ExprId state, PlaceId place, std::string_view text);
  std::uint32_t whole_to_end(std::uint32_t whole, ExprId state, PlaceId place);
  // Those of a tail of the node.
  std::vector<std::uint32_t> tail_tokens(const Node& node, const Tail& tail);
  const std::vector<Step>& successors(ExprId state, PlaceId place);

  bool ends_chunk(const Node& node);
  // The tail that the row of tokens may end with, or null.
  Tail* fitting_tail(const Node& node);
  // The tails, if they are the same whatever follows the state, or null.
  const Tails* sure_tails(ExprId state, PlaceId place);
  // The short tokens behind which the chunk may end, as `sure_end` tells it, with at least the tokens of the ends that
  // begin with them, ascending.
  using SureSteps = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  SureSteps sure_steps(ExprId state, PlaceId place);
  // At least the tokens of an end of the row that ends in `last`, there, or kInfinite if it has none.
  std::uint32_t live(const Node& node);
  std::optional<std::uint32_t> at_once(const Node& node);
  // The fewest tokens to where an end is told at once, and at least how long it is from there.
  struct Way {
    std::uint32_t steps = kInfinite;
    std::uint32_t rest = kInfinite;
    bool operator==(const Way&) const = default;
  };
  Way way_from(const Node& node);
  Way search(const Node& start);
  Node first_of_way(const Node& node);
  std::uint32_t end_length(const Node& node);
  Node behind_step(const Node& node, const Step& step) const {
    return {step.state, step.place, whole_behind(node.whole, step.token), step.token};
  }
  std::uint32_t whole_behind(std::uint32_t whole, std::uint32_t token) const {
    if (whole == Encoder::kOff || steps_->is_special(token)) return Encoder::kOff;
    return steps_->encoder().whole_step(whole, steps_->vocabulary().bytes(token));
  }

  // Calls visit(token, state behind it) for each token that the language allows. Returns the trie nodes seen.
  template <class Visit>
  std::int64_t walk(ExprId state, Visit visit);
  // The tokens that stay inside a beginning (Automaton::beginnings): those behind which the chunk may surely end, and
  // the end is straight, whatever follows the beginning; and others that the split lets stand there.
  struct Inside {
    std::shared_ptr<const Mask> sure, unsure;
  };
  Inside inside(ExprId beginning, PlaceId place);
  std::shared_ptr<const Mask> mask_of(ExprId state, const Where& where);
  std::shared_ptr<const Mask> make_mask(ExprId state, const Where& where);
  // Adds to a row those of the mask behind which the end takes at most so many tokens.
  void add_within(const Mask& mask, ExprId state, const Where& where, std::uint32_t tokens_after, std::uint32_t* row);

  Automaton& automaton_;
  MaskComputer& masks_;
  std::shared_ptr<PretokenTransitions> steps_;
  std::mutex mutex_;
  Meter meter_;
  std::shared_ptr<const CancelFlag> cancel_;
  std::vector<std::vector<Where>> sets_;
  std::unordered_map<std::uint64_t, std::vector<PositionSetId>> set_ids_;  // by hash
  std::unordered_map<Id, bool> texts_;
  std::unordered_map<std::uint32_t, bool> goes_on_;
  std::unordered_map<std::uint32_t, std::pair<std::uint8_t, ExprId>> towards_;
  std::unordered_map<std::uint32_t, std::uint32_t> straight_;
  std::unordered_map<Id, Length> ends_;  // by state, and place behind the mark
  std::unordered_map<Id, Tails> tails_;
  std::unordered_map<Id, Row> rows_;
  std::unordered_map<std::uint32_t, Apart> aparts_;
  std::unordered_map<std::string, std::uint32_t> first_tokens_;  // of tails, as merging gives them
  std::unordered_map<Id, std::vector<Step>> successors_;
  std::unordered_map<Node, Way, NodeHash> ways_;             // of those that are not told at once
  std::unordered_map<Node, std::uint32_t, NodeHash> worst_;  // the longest end behind a token of a mask; no last token
};

template <class Visit>
std::int64_t CanonicalConstraint::walk(ExprId state, Visit visit) {
  const Vocabulary& vocabulary = steps_->vocabulary();
  return walk_tokens(
      vocabulary, automaton_, state,
      [&](const TrieNode& node, ExprId next) {
        if (node.token & TrieNode::kShared) {
          for (std::uint32_t token : vocabulary.shared_ids(node.token)) visit(token, next);
        } else {
          visit(node.token, next);
        }
      },
      [&](const Subtree& subtree, ExprId next) {
        for (std::uint32_t k = subtree.first; k < subtree.last; ++k) visit(vocabulary.ids_in_order()[k], next);
      });
}

}  // namespace detent
