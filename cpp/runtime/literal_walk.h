// LiteralWalk: finds the tokens of states that begin with a choice among literals, without transition rows. An example
// is the next member of an object: `"name": `, `"age": ` or `}`.
//
// The walk follows each literal through a trie. At the end of a literal it follows each choice of the rest (an NFA).
// Few tokens reach past the end of a literal, so the walk is short. States that do not begin with a literal are
// collected for the caller (take_open).
//
// Case: a transition row of a state inside a JSON object costs some 2.5 us, and a mask needed 6 of them. An object
// serves one call, under the lock of the automaton.
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

// The two tries that LiteralWalk may follow: the tokens of a vocabulary, and the suffixes of the context-dependent
// tokens of a slice.
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

// A state, and the trie nodes [first, end) whose bytes follow it: the whole trie, or the nodes below one node.
struct OpenState {
  ExprId state;
  std::uint32_t first, end;
};

// One alternative of a state: the texts of `head`, then those of `rest`.
struct Choice {
  // A literal, a set of few bytes, a repeat of such a set, the members of an object, a state that begins with the rest
  // of a JSON string, or another state. For a state, `head` is all of it.
  enum class Kind : std::uint8_t { text, bytes, run, members, string, other } kind;
  ExprId head, rest;
};

template <class Trie>
class LiteralWalk {
 public:
  LiteralWalk(Trie trie, MaskBuilder& builder, ExprSet& exprs, Derivatives& derivatives, Liveness& liveness)
      : trie_(trie), builder_(builder), exprs_(exprs), derivatives_(derivatives), liveness_(liveness) {}

  // Adds the tokens that a state allows to the builder. A state with too many choices becomes an open state.
  void run(ExprId state);
  // The same for only the declared members of an object, at the root of the trie.
  void run(const DeclaredMembers& members);
  // Returns the states that the walk has not followed, because they do not begin with a literal. States at one node
  // that begin alike are one state: their common head, and the union of what follows it.
  std::vector<OpenState> take_open();

 private:
  // The choices of a state: choices_[first..last). A walk meets few states, so that they are searched one by one.
  struct KnownState {
    ExprId state;
    std::size_t first, last;
  };
  KnownState choices_of(ExprId state);
  void add_choices(ExprId state);
  void follow(const Choice& choice, const OpenState& at);
  void follow_text(std::string_view text, ExprId rest, const OpenState& at);
  enum class Undeclared : std::uint8_t { followed, left_out };
  void follow_members(const Choice& choice, const OpenState& at, Undeclared undeclared);
  void follow_unordered_members(const Choice& choice, const OpenState& at);
  // The common prefix of the names of the members that may come next. has_required: the last of them is required, so
  // that one of them must come.
  struct CommonPrefix {
    ExprId name = ExprSet::kEmpty;  // a literal that begins with the prefix
    std::size_t length = 0;
    bool has_required = false;
  };
  CommonPrefix common_prefix(ExprId members) const;
  bool narrow(CommonPrefix& common, ExprId member) const;
  std::string_view text_of(const CommonPrefix& common) const {
    return common.length == 0 ? std::string_view() : exprs_.text_of(common.name).substr(0, common.length);
  }
  CommonPrefix common_prefix_of_unordered(ExprId members) const;
  ExprId name_of(ExprId member) const;
  void follow_pending(const OpenState& start);
  std::optional<OpenState> read_text(std::string_view text, const OpenState& at, bool& is_allowed);
  void follow_run(const Expr& repeat, ExprId rest, const OpenState& at);
  void follow_string(ExprId state, const OpenState& at);
  bool allow(std::uint32_t node);
  ExprId union_by_head(std::vector<ExprId> states, int depth);

  Trie trie_;
  MaskBuilder& builder_;
  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  static constexpr std::size_t kFewStates = 32;
  std::vector<KnownState> known_;
  std::unordered_map<std::uint32_t, std::size_t> index_of_known_;  // by state, where there are more than kFewStates
  std::vector<Choice> choices_;
  std::vector<ExprId> unsplit_;  // alternatives of the state that choices_of() splits
  std::vector<OpenState> pending_, open_;
};

// Whether LiteralWalk pays from the root of the vocabulary's trie: a state begins with a literal of several bytes, with
// ordered members, or with punctuation, perhaps after an indent.
bool begins_like_literal(const ExprSet& exprs, ExprId state);

extern template class LiteralWalk<VocabularyTrie>;
extern template class LiteralWalk<SuffixTrie>;

}  // namespace detent
