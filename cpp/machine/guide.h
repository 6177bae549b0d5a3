// Guide: a language lifted to a vocabulary. Immutable in meaning, lazily filled inside, shared by matchers and threads.
#pragma once

#include <cstdint>
#include <memory>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

class Guide {
 public:
  // Throws `empty` ("language" or "spelling") where no text, or none that the vocabulary can write, is in the language.
  Guide(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary, const Limits& limits,
        std::shared_ptr<const CancelFlag> cancel);

  const Vocabulary& vocabulary() const { return *vocabulary_; }
  ExprId start() const { return automaton_.start(); }
  bool accepting(ExprId state) const { return automaton_.accepting(state); }

  // The state after `text`, or the dead state if no completion of it is left. Linear in the text.
  ExprId advance(ExprId state, std::string_view text);

  // Writes the row of the tokens that `state` allows: those after which a completion is left, and the end-of-text ids if
  // the state accepts. Cost: a cache look-up and a copy; at the first visit a walk over the part of the trie that the
  // language allows.
  void fill(ExprId state, std::uint32_t* row);

  // Writes a row with the end-of-text ids only.
  void fill_end(std::uint32_t* row) const;

  std::int64_t state_count() { return automaton_.state_count(); }
  std::int64_t memory_bytes() { return automaton_.memory_bytes(); }

 private:
  std::shared_ptr<const Mask> compute(ExprId state);

  std::shared_ptr<const Vocabulary> vocabulary_;
  Automaton automaton_;
};

}  // namespace detent
