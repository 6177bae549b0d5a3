#include "automaton/byte_resets.h"

#include <unordered_set>
#include <vector>

namespace detent {

ExprId ByteResets::find(const ExprSet& exprs, Derivatives& derivatives, ExprId id, std::uint8_t byte) {
  const auto key = [byte](ExprId at) { return std::uint64_t{at.value} << 8 | byte; };
  if (const auto known = known_.find(key(id)); known != known_.end()) return known->second;
  std::vector<ExprId> states{id};
  std::unordered_set<std::uint32_t> seen{id.value};
  ExprId target = ExprSet::kEmpty;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states.size() > kMaxStates) return known_[key(id)] = ExprSet::kEmpty;
    const ExprId* row = derivatives.row(states[i]);
    const ExprId next = row[derivatives.class_of()[byte]];
    if (next != ExprSet::kEmpty && target != ExprSet::kEmpty && next != target)
      return known_[key(id)] = ExprSet::kEmpty;
    if (next != ExprSet::kEmpty) target = next;
    for (std::uint32_t c = 0; c < derivatives.class_count(); ++c) {
      if (row[c] != ExprSet::kEmpty && seen.insert(row[c].value).second) states.push_back(row[c]);
    }
  }
  if (!exprs[target].nullable) target = ExprSet::kEmpty;
  for (ExprId state : states) known_[key(state)] = target;
  return target;
}

}  // namespace detent
