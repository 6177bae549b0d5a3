// CompletionPaths: one completion of each live state, found once and remembered as a step for each state along it.
//
// To follow the byte whose successor has the least length (Liveness::length) is not enough. The length of an
// intersection may be that of one alternative, and its successor, a union in another form, may have no smaller length.
//   1. Take the text that the form of an intersection shows. The lengths of its states would need many searches.
//   2. Descend: in a union follow only the alternative of the least length, while the lengths fall.
//   3. Where they do not fall, search best-first, by least length.
// All stop at a state with a remembered step. So two paths that meet stay together, and no path has a cycle.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "automaton/liveness.h"

namespace detent {

class CompletionPaths {
 public:
  CompletionPaths(ExprSet& exprs, Derivatives& derivatives, Liveness& liveness, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), liveness_(liveness), meter_(meter) {}

  struct Step {
    std::uint8_t byte = 0;
    ExprId state;              // after the byte
    std::uint32_t length = 0;  // of the path, with this byte
  };
  // The first step from a live state that does not accept. Cost: a look-up; the first call on a path finds all of it.
  Step step(ExprId state);
  // Live states whose completions, one after another, complete the live `state`; the last one first. Nothing where its
  // form shows none. States share them: of n members in any order, each name leaves another set of n - 1 members.
  // Cost: linear in the operands.
  std::vector<ExprId> parts(ExprId state);

 private:
  struct Search;
  // A text, then the remembered path of a state, which may be thousands of bytes.
  struct Path {
    std::string text;
    ExprId rest;
  };
  void find(ExprId state);
  void search(ExprId state);
  std::optional<Path> descend(ExprId state);
  void remember(ExprId state, const Path& completion);
  ExprId nearest_alternative(ExprId state);
  // The length of the remembered path of a state, otherwise Liveness::length.
  std::uint32_t length_of(ExprId state);
  bool is_end(ExprId state) const { return exprs_[state].nullable || steps_.contains(state.value); }

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Liveness& liveness_;
  Meter& meter_;
  std::unordered_map<std::uint32_t, Step> steps_;  // by state
};

}  // namespace detent
