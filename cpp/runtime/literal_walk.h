// LiteralWalk: the tokens of states that begin with literals and choices among them, such as the next members of an
// object, without transition rows.
//
// The walk follows the literals of a state in a trie. Where a state may go on in several ways, it follows each of them
// (an NFA). Few tokens pass the end of a literal, so it seldom goes far; what does not begin with a literal is left to
// the caller.
//
// Case: a transition row of a state inside a JSON object costs some 2.5 us, and a mask needed 6 of them. Lives for one
// call, under the lock of the automaton.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "automaton/liveness.h"
#include "automaton/slice_finder.h"
#include "expr/derivative.h"
#include "expr/expr_set.h"
#include "mask/context_dependent_tokens.h"
#include "mask/mask_builder.h"
#include "runtime/trie_walk.h"
#include "vocab/vocabulary.h"

namespace detent {

// The tokens of a vocabulary, or the suffixes of the context-dependent tokens of a slice, as LiteralWalk sees them.
class VocabularyTrie {
 public:
  explicit VocabularyTrie(const Vocabulary& vocabulary) : vocabulary_(vocabulary), nodes_(vocabulary.trie()) {}
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }
  std::uint32_t root(std::uint8_t byte) const { return vocabulary_.root(byte); }
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const { return vocabulary_.child(node, byte); }
  const TrieNode& node(std::uint32_t index) const { return nodes_[index]; }
  template <class Act>
  void each_id(std::uint32_t index, Act act) const {
    for_each_id(vocabulary_, nodes_[index].token, act);
  }

 private:
  const Vocabulary& vocabulary_;
  const std::vector<TrieNode>& nodes_;
};

class SuffixTrie {
 public:
  explicit SuffixTrie(const ContextDependentTokens& tokens) : tokens_(tokens) {}
  std::uint32_t size() const { return static_cast<std::uint32_t>(tokens_.nodes.size()); }
  std::uint32_t root(std::uint8_t byte) const { return tokens_.roots[byte]; }
  std::uint32_t child(std::uint32_t node, std::uint8_t byte) const {
    const std::uint32_t end = tokens_.nodes[node].next;
    std::uint32_t child = node + 1;
    while (child < end && tokens_.nodes[child].byte < byte) child = tokens_.nodes[child].next;
    return child < end && tokens_.nodes[child].byte == byte ? child : end;
  }
  const ContextDependentTokens::Node& node(std::uint32_t index) const { return tokens_.nodes[index]; }
  template <class Act>
  void each_id(std::uint32_t index, Act act) const {
    const ContextDependentTokens::Node& at = tokens_.nodes[index];
    for (std::uint32_t k = at.first; k < at.last; ++k) act(tokens_.ids[k]);
  }

 private:
  const ContextDependentTokens& tokens_;
};

// A state, and the nodes [first, end) of a trie whose tokens go on from it: all nodes, or those below one.
struct OpenState {
  ExprId state;
  std::uint32_t first, end;
};

// One way in which a state goes on: the texts of `head`, then those of `rest`.
struct Choice {
  // A literal, a set of few bytes, a repeat of such a set, members in a fixed order, or something else.
  enum class Kind : std::uint8_t { text, bytes, run, members, other } kind;
  ExprId head, rest;
};

template <class Trie>
class LiteralWalk {
 public:
  LiteralWalk(Trie trie, MaskBuilder& builder, ExprSet& exprs, Derivatives& derivatives, Liveness& liveness)
      : trie_(trie), builder_(builder), exprs_(exprs), derivatives_(derivatives), liveness_(liveness) {}

  // Adds the tokens that a state allows to the builder. A state with too many ways to go on is left to the caller.
  void run(ExprId state);
  // As above, for the declared members alone, at the root of the trie.
  void run(const DeclaredMembers& members);
  // What is left to the caller: where the walk came to a state that does not begin with a literal.
  const std::vector<OpenState>& open() const { return open_; }

 private:
  const std::vector<Choice>& choices_of(ExprId state);
  void add_choices(ExprId state, std::vector<Choice>& choices, std::vector<ExprId>& pending);
  void follow(const Choice& choice, const OpenState& at);
  void follow_text(std::string_view text, ExprId rest, const OpenState& at);
  enum class Undeclared : std::uint8_t { followed, left_out };
  void follow_members(const Choice& choice, const OpenState& at, Undeclared undeclared);
  // What the names of the members that may come next begin with; the last of these may be required.
  struct CommonPrefix {
    std::string text;
    bool has_required = false;
  };
  const CommonPrefix& common_prefix(ExprId members);
  ExprId name_of(ExprId member) const;
  void follow_pending(const OpenState& start);
  std::optional<OpenState> read_text(std::string_view text, const OpenState& at, bool& is_allowed);
  void follow_run(const Expr& repeat, ExprId rest, const OpenState& at);
  bool allow(std::uint32_t node);

  Trie trie_;
  MaskBuilder& builder_;
  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  std::unordered_map<std::uint32_t, std::vector<Choice>> choices_;   // by state
  std::unordered_map<std::uint32_t, CommonPrefix> common_prefixes_;  // by state of members
  std::vector<OpenState> pending_, open_;
};

// Whether LiteralWalk is worth while from a state at the root of the vocabulary's trie: it begins with a literal of
// several bytes, or with punctuation.
bool begins_like_literal(const ExprSet& exprs, ExprId state);

extern template class LiteralWalk<VocabularyTrie>;
extern template class LiteralWalk<SuffixTrie>;

}  // namespace detent
