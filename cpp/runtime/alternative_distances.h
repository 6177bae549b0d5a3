// AlternativeDistances: the fewest tokens that complete a state, found by its alternatives (automaton/alternatives.h).
//
// A union is complete as soon as one of its alternatives is. So its distance is the least of theirs, and a search may
// go on from each alternative by itself. `.*a.{10}|...|.*p.{25}` has some 300 alternatives and 2^200 unions.
//
// Each alternative keeps a lower and an upper bound of its distance, and only between them is there a search. It takes
// the alternatives first that complete in the fewest tokens by their upper bounds. A grammar has infinitely many
// alternatives, which are stacks of symbols: there the allowance may end a search that would find something later.
//
// Cost: for each alternative that is expanded, once, a walk over the trie with sets of alternatives; inside a JSON
// string only over the suffixes of the tokens that leave it. An alternative that the one before contains is never
// expanded. Needs a vocabulary that has every byte, and a language without lists of distinct items. The caller holds a
// lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "automaton/automaton.h"
#include "runtime/alternative_sets.h"
#include "runtime/part_texts.h"
#include "runtime/string_tokens.h"
#include "vocab/vocabulary.h"

namespace detent {

// The work that searches may do: trie nodes visited, and the work of the automaton on the way.
struct SearchAllowance {
  std::int64_t work = 400'000;       // some 6 ms
  std::int64_t nodes_per_step = 16;  // what a step of the automaton counts as
  static SearchAllowance unlimited() { return {.work = INT64_MAX}; }
  bool is_unlimited() const { return work > INT64_MAX / 2; }
};

class AlternativeDistances {
 public:
  AlternativeDistances(const Vocabulary& vocabulary, Automaton& automaton, MaskComputer& masks)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        masks_(masks),
        sets_(automaton),
        part_texts_(vocabulary, automaton) {}

  // An alternative of a state, and the number of tokens of a completion of it.
  struct Known {
    AlternativeId id;
    std::uint32_t tokens;
  };
  // Finds one without a search over tokens, of at most `enough` tokens if that is simple. Nothing where the allowance
  // ends first, or if it has very many bytes.
  std::optional<Known> known_completion(ExprId state, std::uint32_t enough, SearchAllowance& allowance);
  // An alternative of a state with a completion of at most `tokens` tokens. Nothing where there is none; or where the
  // allowance, which is then used up, did not suffice to find it.
  std::optional<Known> completion_within(ExprId state, std::uint32_t tokens, SearchAllowance& allowance);
  // The same for alternatives of one state or of several.
  std::optional<Known> completion_within(std::span<const AlternativeId> alternatives, std::uint32_t tokens,
                                         SearchAllowance& allowance);
  // A bound on the tokens that complete an alternative, by what is known of it. UINT32_MAX where it is not known yet,
  // and the allowance ends first.
  std::uint32_t bound(AlternativeId id, SearchAllowance& allowance);
  // The same after a completion was tokenized, if that may give a bound of at most `enough`.
  std::uint32_t tightened_bound(AlternativeId id, std::uint32_t enough, SearchAllowance& allowance);
  // The tokens of the best completion that is known of an alternative, of at most `tokens` tokens (Known).
  std::vector<std::uint32_t> tokens_from(AlternativeId id);
  // The alternative after the first of these tokens, and the number of the others; nothing where it is not known.
  std::optional<Known> after_first_token(AlternativeId id);
  // The tokens of a shortest completion; nothing if the allowance was used up first.
  std::optional<std::vector<std::uint32_t>> shortest_completion(ExprId state, SearchAllowance& allowance);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Step {
    AlternativeId to;
    std::uint32_t token;
  };
  struct Bounds {
    std::uint32_t lower = 1;
    std::uint32_t upper = kNone;
    Step next{{kNone}, kNone};  // the first step of a completion of `upper` tokens, if it was found by alternatives
    bool is_written = false;    // whether tokens_from() has at most `upper` tokens; otherwise `upper` is by the form
    bool by_parts = false;      // whether the known completion, if there is no `next`, is that of PartTexts
    bool tightened = false;     // whether the known completion was tokenized as one text
  };
  struct Search;
  struct Steps;

  template <class Find>
  auto find_within(SearchAllowance& allowance, Find find) -> decltype(find());
  std::optional<Known> search_within(std::span<const AlternativeId> starts, std::uint32_t tokens,
                                     SearchAllowance& allowance);
  Bounds& bounds(AlternativeId id);
  // A byte of each class, in the order in which completions prefer them.
  const std::vector<Letter>& letters();
  void tighten(AlternativeId id, std::uint32_t enough, SearchAllowance& allowance);
  void tighten_by_path(AlternativeId id, SearchAllowance& allowance);
  // The completion of its parts, one after another, if its form shows them.
  void write_parts(AlternativeId id, const SearchAllowance& allowance);
  // Returns null if the allowance is used up.
  const std::vector<Step>* successors(AlternativeId id, SearchAllowance& allowance);
  // Adds the steps from an alternative, some of which may be left out (drop_included_heads). Returns whether the
  // allowance sufficed.
  bool find_steps(AlternativeId id, Steps& steps, SearchAllowance& allowance);
  bool find_steps_in_string(const StringTokens& string, AlternativeId id, Steps& steps, SearchAllowance& allowance);
  // Charges the work of the automaton since the last call, and the visit of so many alternatives.
  void charge(std::size_t alternatives, SearchAllowance& allowance);
  bool leads_back(const AlternativeSet& set, const Subtree& subtree);
  void note_path(AlternativeId id, const AlternativePath& path);

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  MaskComputer& masks_;
  AlternativeSets sets_;
  PartTexts part_texts_;
  std::vector<Letter> letters_;                                      // what letters() returns, once it was called
  std::unordered_map<std::uint32_t, Bounds> bounds_;                 // by alternative
  std::unordered_map<std::uint32_t, std::vector<Step>> successors_;  // by alternative
  std::size_t successor_count_ = 0;                                  // in all lists of successors_
  std::vector<AlternativeSet> path_;                                 // of a walk, by depth
  std::int64_t charged_ = 0;                                         // the work of the automaton at the last charge()
};

}  // namespace detent
