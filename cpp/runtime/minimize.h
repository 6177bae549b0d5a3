// merge_states: minimises an automaton that is given as arrays (Hopcroft 1971).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace detent {

// Returns the part of each state in the coarsest partition of this kind: the states of a part have equal labels, and
// each class of symbols leads all of them to one part. State 0 is a part by itself; edges to it are ignored. `next` is
// [states x classes]. Throws `argument` ("merge_states") unless the sizes fit and every number is below the number of
// states. Time: O(edges x log states), plus sorting the edges.
std::vector<std::uint32_t> merge_states(std::span<const std::uint32_t> next, std::span<const std::uint32_t> labels,
                                        std::uint32_t classes);

}  // namespace detent
