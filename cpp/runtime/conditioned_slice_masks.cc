// SliceMasks: the masks of prefixes that exclude words (automaton/conditioned_prefixes.cc).
#include <bit>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

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

// Whether a token ends in the first bytes of a character.
bool ends_inside_character(std::string_view token) {
  for (std::size_t count = 1; count < 4 && count <= token.size(); ++count) {
    const auto byte = static_cast<std::uint8_t>(token[token.size() - count]);
    if (byte < 0x80) return false;
    if (byte >= 0xC0) return count < (byte < 0xE0 ? 2U : byte < 0xF0 ? 3U : 4U);
  }
  return false;
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
  const auto follow = [&](std::uint32_t id) {
    const ExprId state = automaton_.advance(prefix, vocabulary_.bytes(id));
    if (state == ExprSet::kEmpty) {
      builder.refuse(id);
    } else {
      builder.note_length(automaton_.completion_bound(state));
    }
  };
  row = builder.row();
  if (parts->needs_escapes_followed) {
    for (std::uint32_t id : *escapes) {
      if ((row[id >> 5] >> (id & 31) & 1) != 0 && may_end_inside_escape(vocabulary_.bytes(id))) follow(id);
    }
  }
  if (parts->needs_characters_followed) {
    for (std::uint32_t i = 0; i < row.size(); ++i) {
      for (std::uint32_t word = row[i]; word != 0; word &= word - 1) {
        const std::uint32_t id = i * 32 + static_cast<std::uint32_t>(std::countr_zero(word));
        if (ends_inside_character(vocabulary_.bytes(id))) follow(id);
      }
    }
  }
  return builder.finish(keep_exits_accepted(all->context_dependent(), parts->condition));
}

std::shared_ptr<const Mask> SliceMasks::mask_of_condition(ExprId condition) {
  const Hash128 key = mask_key(automaton_.hash(condition), MaskKind::condition);
  MaskCache& cache = vocabulary_.cache();
  if (std::shared_ptr<const Mask> known = cache.find(key, MaskCache::Kind::reference)) return known;
  const std::vector<ExprId> exclusions = analysis_.exclusions(condition);
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
