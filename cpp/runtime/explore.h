// Exploration: builds the arrays of a token DFA from all states of a machine that tokens reach.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/token_dfa.h"
#include "runtime/token_machine.h"

namespace detent {

struct ExploredDfa {
  std::uint32_t states = 0;
  std::uint32_t classes = 0;
  std::vector<std::uint32_t> token_class;  // [tokens]; class 0: the tokens that no state allows
  std::vector<std::uint32_t> next;         // [states x classes]; the states are numbered as in TokenDfa
  std::vector<std::uint32_t> accepting;    // the states where the text may end
};

// Visits, breadth first, every state that tokens reach. Throws `limit` ("table_states", "table_bytes") where there are
// more than `max_states`, or where `next` would take more than `max_bytes`. With `dfa`, a DFA over the same vocabulary
// whose start is `dfa_start`, explores the product: tokens that both allow. Some of its states may have no completion.
// Cost: an expansion of each state, and a look-up for each token that it allows. In a product state where `dfa` allows
// few tokens, the machine steps by these only.
ExploredDfa explore(TokenMachine& machine, std::uint32_t max_states, std::int64_t max_bytes,
                    const TokenDfa* dfa = nullptr, std::uint32_t dfa_start = TokenDfa::kStart);

}  // namespace detent
