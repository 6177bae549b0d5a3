// Guide: a language lifted to a vocabulary. Immutable in meaning, lazily filled inside, shared by matchers and threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/budget.h"
#include "runtime/canonical_constraint.h"
#include "runtime/mask_computer.h"
#include "vocab/vocabulary.h"

namespace detent {

class Guide {
 public:
  // Throws `empty` ("language" or "tokenizable") where no text, or none that the vocabulary can write, is in the
  // language. With `steps`, which are of the vocabulary, matchers take the tokenizer's own rows of tokens only
  // ("canonical").
  Guide(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary, const Limits& limits,
        std::shared_ptr<const CancelFlag> cancel, std::shared_ptr<PretokenTransitions> steps = nullptr);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  ExprId start() const { return automaton_.start(); }
  bool accepting(ExprId state) const { return automaton_.accepting(state); }

  // The state after `text`, or the dead state if no completion of it is left. Linear in the text.
  ExprId advance(ExprId state, std::string_view text);

  // Writes the row of the tokens that `state` allows: those after which a completion is left, and the end-of-text ids
  // if the state accepts. Cost: a cache look-up and a copy; at the first visit a walk over the part of the trie that
  // the language allows.
  void fill(ExprId state, std::uint32_t* row);
  // Does the same if the mask is in the cache, and nothing otherwise.
  bool fill_from_cache(ExprId state, std::uint32_t* row);

  // As `fill`, but leaves only the text tokens after which at most `tokens_after` more complete the text. Returns
  // whether that took any away.
  bool fill_within(ExprId state, std::uint32_t tokens_after, std::uint32_t* row);

  // Writes a row with the end-of-text ids only.
  void fill_end(std::uint32_t* row) const;

  // Whether some text token may follow.
  bool allows_text(ExprId state);

  // The distinct states that one text token leads to; adds the trie nodes visited.
  std::vector<ExprId> successors(ExprId state, std::int64_t& visited);
  // Calls visit(id, state after it) for every text token that `state` allows. Throws `cancelled`.
  void expand(ExprId state, const std::function<void(std::uint32_t, ExprId)>& visit);
  // Does so for those among `ids`, which have a text, only.
  void expand(ExprId state, const std::vector<std::uint32_t>& ids,
              const std::function<void(std::uint32_t, ExprId)>& visit);
  // The lowest id of a text token that leads from one state to another, which is a successor.
  std::uint32_t token_between(ExprId from, ExprId to);

  // The state after one byte, which may be inside a token.
  ExprId step(ExprId state, std::uint8_t byte) { return automaton_.row(state)[automaton_.class_of()[byte]]; }
  bool is_tokenizable(ExprId state) { return automaton_.is_tokenizable(state); }
  // The bytes that may follow in `state`.
  ByteSet next_bytes(ExprId state);
  std::uint32_t completion_bound(ExprId state) { return automaton_.completion_bound(state); }
  std::uint32_t max_completion_bound(ExprId state) const { return automaton_.max_completion_bound(state); }
  bool has_rule(ExprId state) const { return automaton_.has_rule(state); }
  std::string some_completion(ExprId state) { return automaton_.some_completion(state); }
  Budget& budget() { return budget_; }
  CanonicalConstraint* canonical() { return canonical_.get(); }  // null if every row of tokens is taken

  std::int64_t state_count() { return automaton_.state_count(); }
  std::int64_t memory_bytes() { return automaton_.memory_bytes(); }

 private:
  void write(const Mask& mask, ExprId state, std::uint32_t* row) const;
  std::shared_ptr<const Mask> mask_of(ExprId state);
  // Visits the tokens that `state` allows: visit(node, state after it), or for many at once visit_all(subtree, that
  // state).
  template <class Visit, class VisitAll>
  std::int64_t walk(ExprId state, Visit visit, VisitAll visit_all);

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const CancelFlag> cancel_;
  Automaton automaton_;
  MaskComputer masks_;
  Budget budget_;
  std::unique_ptr<CanonicalConstraint> canonical_;
};

}  // namespace detent
