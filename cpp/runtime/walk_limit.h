// WalkLimit: what a walk over the states after tokens may cost where these may be exponentially many. A walk that
// exceeds it is given up, and one with sets of alternatives replaces it (canonical_alternative_walk.h).
#pragma once

#include <cstdint>

#include "automaton/automaton.h"

namespace detent {

class WalkLimit {
 public:
  struct Exceeded {};  // thrown

  // Each of `halvings` halves it; negative ones double it. Nearly all languages stay far below. The alternatives of a
  // grammar may be more than its states, so work does not end its walks.
  WalkLimit(Automaton& automaton, ExprId state, int halvings)
      : automaton_(automaton),
        last_state_(automaton.state_count() + scaled(kManyStates, halvings)),
        last_work_(automaton.has_rule(state) ? INT64_MAX : automaton.work() + scaled(kMuchWork, halvings)) {}

  // Called for each token.
  void check() {
    if (automaton_.work() > last_work_) throw Exceeded{};
    if (++calls_ % 64 == 0 && automaton_.state_count() > last_state_) throw Exceeded{};
  }

 private:
  static constexpr std::int64_t kManyStates = 1'000;
  static constexpr std::int64_t kMuchWork = 50'000;  // in steps of the automaton's meter

  static std::int64_t scaled(std::int64_t count, int halvings) {
    return halvings < 0 ? count << -halvings : count >> halvings;
  }

  Automaton& automaton_;
  std::int64_t last_state_, last_work_;
  std::uint32_t calls_ = 0;
};

}  // namespace detent
