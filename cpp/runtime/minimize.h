// Minimisation of an automaton that is given as arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace detent {

// The coarsest partition of states that separates different labels, and in which each class of symbols leads from
// states of one part to states of one part: the part of each state. State 0 has a label of its own; edges to it are
// ignored. `next` is [states x classes]. Throws `argument` ("merge_states") unless the sizes fit and every number is
// below the number of states. Hopcroft 1971: O(edges x log states), but for the sorting of edges.
std::vector<std::uint32_t> merge_states(std::span<const std::uint32_t> next, std::span<const std::uint32_t> labels,
                                        std::uint32_t classes);

}  // namespace detent
