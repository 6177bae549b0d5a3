// PartTexts: completions of states as the texts of their parts, one after another, and the tokens that these take.
//
// The parts of a state are what its form shows (CompletionPaths::parts), and states share them. So the number of tokens
// is a sum of known ones. Case: of 60 required members in any order, each name leaves another set of 59.
// The caller holds a lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "vocab/vocabulary.h"

namespace detent {

class PartTexts {
 public:
  PartTexts(const Vocabulary& vocabulary, Automaton& automaton) : vocabulary_(vocabulary), automaton_(automaton) {}

  // The tokens of the texts of a live state's parts, each in the fewest tokens. Nothing where its form shows few parts,
  // where one is long, or where one ends inside a special token. Cost: linear in the parts.
  std::optional<std::uint32_t> token_count(ExprId state, std::span<const Letter> letters, std::int64_t max_steps);
  // The text of a state whose token_count() is known. Always the same for a state.
  std::string text(ExprId state);

 private:
  struct Known {
    std::uint32_t tokens = 0;
    bool is_unfit = false;  // it, or one of its parts
    std::string text{};     // if the state has no parts
  };
  std::vector<ExprId> parts(ExprId state);
  template <class Value, class Find>
  const Value& find_by_parts(ExprId state, std::unordered_map<std::uint32_t, Value>& known, Find find);
  // Those that have no parts, with repetition; 0 for a state that has none.
  std::uint32_t part_count(ExprId state);
  Known of_one_part(ExprId state, std::span<const Letter> letters, std::int64_t max_steps);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  std::unordered_map<std::uint32_t, std::uint32_t> counts_;  // part_count, by state
  std::unordered_map<std::uint32_t, Known> known_;           // by state
};

}  // namespace detent
