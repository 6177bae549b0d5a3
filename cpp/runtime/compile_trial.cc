#include "runtime/compile_trial.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "automaton/conjuncts.h"
#include "runtime/language_machine.h"

namespace detent {
namespace {

// A first mask that takes more work than this, some 0.5 ms, makes compilation try the masks of kTrials further steps.
// Languages with lists of distinct items always try kTrialsOfLists. Of 4,483 schemas, 11 took more for their first
// mask.
constexpr std::int64_t kMuchWork = 2'000;
constexpr int kTrials = 4, kTrialsOfLists = 2;
// Of a language with intersections of patterns that may match anywhere, most masks are cheap and some are not; the
// costly ones lie inside strings, and where few characters are left. Further trials take long tokens, and end after so
// much work, some 0.2 s. Of 4,483 schemas, 25 have such an intersection.
constexpr int kTrialsOfSearches = 20;
constexpr std::int64_t kMostWorkOfTrials = 1'000'000;
constexpr std::size_t kLongToken = 6;  // bytes

bool searches(Automaton& automaton) {
  return automaton.edit([](ExprSet& exprs, Derivatives&, Liveness&) { return has_conjuncts_that_search(exprs); });
}

// The tokens of text of at least kLongToken bytes. Kept with the masks: to look at each of 128,000 tokens takes 0.5 ms.
std::shared_ptr<const Mask> long_tokens(const Vocabulary& vocabulary) {
  constexpr std::uint64_t kLongTokens = 0x6C6F6E67746F6B;
  const Hash128 key = mix(Hash128{}, kLongTokens);
  if (std::shared_ptr<const Mask> known = vocabulary.cache().find(key, MaskCache::Kind::reference)) return known;
  MaskBuilder builder(vocabulary.word_count());
  for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.is_text(id) && vocabulary.bytes(id).size() >= kLongToken) builder.allow(id);
  }
  std::shared_ptr<const Mask> mask = builder.finish();
  vocabulary.cache().insert(key, mask, MaskCache::Kind::reference);
  return mask;
}

// Removes the other tokens from a mask row, if it has long ones. These soon come to where few characters are left.
void keep_long_tokens(const Vocabulary& vocabulary, std::span<std::uint32_t> row) {
  std::vector<std::uint32_t> kept(row.size());
  long_tokens(vocabulary)->write(kept.data(), kept.size());
  bool has_any = false;
  for (std::uint32_t i = 0; i < row.size(); ++i) has_any = (kept[i] &= row[i]) != 0 || has_any;
  if (has_any) std::ranges::copy(kept, row.begin());
}

}  // namespace

std::optional<std::uint32_t> middle_bit(std::span<const std::uint32_t> row) {
  int left = 0;
  for (std::uint32_t word : row) left += std::popcount(word);
  left /= 2;
  for (std::uint32_t i = 0; i < row.size(); ++i) {
    for (std::uint32_t word = row[i]; word != 0; word &= word - 1) {
      if (left-- == 0) return i * 32 + static_cast<std::uint32_t>(std::countr_zero(word));
    }
  }
  return std::nullopt;
}

void LanguageMachine::compute_first_mask() {
  constexpr std::uint64_t kRefused = 0x72656675736564;
  const Limits& limits = automaton_.limits();
  try_and_remember_refusal(*vocabulary_, mix(automaton_.hash(start()), kRefused), limits, limits.trial_steps(),
                           [this] { try_first_masks(); });
  drop_cancel_flag();
}

// Stores the mask only after all trials have succeeded.
void LanguageMachine::try_first_masks() {
  if (cached_mask(start())) return begin_decoding();
  const ExprId representative = representative_of(start());
  const std::int64_t before = automaton_.work();
  std::shared_ptr<const Mask> mask = masks_.compute(representative);
  const bool took_much = automaton_.work() - before > kMuchWork;
  begin_decoding();
  const bool has_searches = searches(automaton_);
  // A list of distinct items or members begins with a bracket, whose mask says nothing about the others.
  const int trials = took_much || has_searches ? kTrials : automaton_.has_lists() ? kTrialsOfLists : 0;
  if (trials > 0) try_next_masks(*mask, trials, false);
  if (has_searches) try_next_masks(*mask, kTrialsOfSearches, true);
  vocabulary_->cache().insert(automaton_.hash(representative), std::move(mask));
}

// Follows the middle token of each mask, or that of its long tokens, so that each compilation follows the same tokens.
// Stores the masks only after all trials have succeeded.
void LanguageMachine::try_next_masks(const Mask& first, int trials, bool has_long_tokens) {
  std::vector<std::pair<ExprId, std::shared_ptr<const Mask>>> made;
  std::vector<std::uint32_t> row(vocabulary_->word_count());
  first.write(row.data(), row.size());
  ExprId state = start();
  const std::int64_t before = automaton_.work(), most = automaton_.limits().trial_steps();
  for (int i = 0; i < trials; ++i) {
    if (has_long_tokens && automaton_.work() - before > kMostWorkOfTrials) break;
    if (has_long_tokens) keep_long_tokens(*vocabulary_, row);
    const std::optional<std::uint32_t> token = middle_bit(row);
    if (!token) break;
    automaton_.limit_work(most);
    state = automaton_.advance(state, vocabulary_->bytes(*token));
    if (state == ExprSet::kEmpty) break;
    std::shared_ptr<const Mask> mask = cached_mask(state);
    if (!mask) {
      mask = masks_.compute(representative_of(state));
      made.emplace_back(state, mask);
    }
    mask->write(row.data(), row.size());
  }
  automaton_.limit_work(Meter::kNoTotal);
  for (auto& [at, mask] : made) {
    vocabulary_->cache().insert(automaton_.hash(representative_of(at)), std::move(mask));
  }
}

}  // namespace detent
