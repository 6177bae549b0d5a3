// SliceMasks: the masks of prefixes that exclude words (automaton/conditioned_prefixes.cc).
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "automaton/conditioned_slices.h"
#include "runtime/condition_walk.h"
#include "runtime/slice_masks.h"

namespace detent {
namespace {

// Whether a token with a backslash, of which the first begins an escape, may end inside an escape.
bool may_end_inside_escape(std::string_view token) {
  constexpr std::size_t kUnicodeEscape = 6;  // such as \u00e9; after \ud83d another one must follow
  const std::string_view last = token.substr(token.rfind('\\'));
  if (last.size() == 1) return true;
  return last[1] == 'u' && (last.size() < kUnicodeEscape || last[2] == 'd' || last[2] == 'D');
}

}  // namespace

std::shared_ptr<const Mask> SliceMasks::compute_conditioned(ExprId prefix) {
  const std::optional<ConditionedPrefix> parts = analysis_.conditioned_prefix(prefix);
  if (!parts) return nullptr;
  const auto escapes = vocabulary_.tokens_with('\\');
  if (parts->needs_escapes_followed && !escapes) return nullptr;
  const std::shared_ptr<const Mask> all = mask_of(parts->all), permitted = mask_of_condition(parts->condition);
  MaskBuilder builder(vocabulary_.word_count());
  builder.copy_from(*all);
  std::vector<std::uint32_t> row(vocabulary_.word_count());
  permitted->add_to(row.data());
  builder.retain(row);
  builder.note_length(parts->completion_bound);
  if (parts->needs_escapes_followed) {
    row = builder.row();
    for (std::uint32_t id : *escapes) {
      const std::string_view token = vocabulary_.bytes(id);
      if ((row[id >> 5] >> (id & 31) & 1) == 0 || !may_end_inside_escape(token)) continue;
      const ExprId state = automaton_.advance(prefix, token);
      if (state == ExprSet::kEmpty) {
        builder.refuse(id);
      } else {
        builder.note_length(automaton_.completion_bound(state));
      }
    }
  }
  return builder.finish(keep_exits_accepted(all->context_dependent(), parts->condition));
}

std::shared_ptr<const Mask> SliceMasks::mask_of_condition(ExprId condition) {
  const Hash128 key = mask_key(automaton_.hash(condition), MaskKind::condition);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) return known;
  const std::vector<ExprId> exclusions =
      automaton_.edit([condition](ExprSet& exprs, Derivatives&, Liveness&) { return exclusions_of(exprs, condition); });
  MaskBuilder builder(vocabulary_.word_count());
  if (exclusions.size() > 1) {  // their states side by side would be more than the sum
    builder.copy_from(*mask_of_condition(exclusions[0]));
    for (ExprId exclusion : std::span(exclusions).subspan(1)) {
      std::vector<std::uint32_t> row(vocabulary_.word_count());
      mask_of_condition(exclusion)->add_to(row.data());
      builder.retain(row);
    }
  } else {
    const ReferenceMask reference = recent_conditions_.nearest_state(condition);
    if (reference.mask) builder.copy_from(*reference.mask);
    if (exclusions.empty() || !ConditionWalk(vocabulary_, automaton_, builder)
                                   .run(condition, reference.mask ? reference.state : ExprSet::kEmpty)) {
      builder = MaskBuilder(vocabulary_.word_count());
      if (reference.mask) builder.copy_from(*reference.mask);
      ReferenceWalk(vocabulary_, automaton_, reference, builder, nullptr, TokenCheck::none, &kept_).run(condition);
    }
    if (!reference.mask) recent_conditions_.add(condition);
  }
  std::shared_ptr<const Mask> mask = builder.finish();
  cache.insert(key, mask, MaskCache::Kind::reference);
  return mask;
}

}  // namespace detent
