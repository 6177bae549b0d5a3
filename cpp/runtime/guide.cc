#include "runtime/guide.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "base/fork_guard.h"
#include "expr/special.h"
#include "runtime/trie_walk.h"

namespace detent {

Guide::Guide(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary, const Limits& limits,
             std::shared_ptr<const CancelFlag> cancel, std::shared_ptr<PretokenTransitions> steps)
    : vocabulary_(std::move(vocabulary)),
      cancel_(cancel),
      automaton_(with_special(language, vocabulary_->special_names(), vocabulary_->special_eos()),
                 vocabulary_->tokenizable_texts(), vocabulary_->max_token_length(), limits, cancel),
      masks_(*vocabulary_, automaton_),
      budget_(*this, limits) {
  if (start() == ExprSet::kEmpty) throw Error(ErrorKind::empty, "language");
  if (!automaton_.is_tokenizable(start())) throw Error(ErrorKind::empty, "tokenizable");
  if (steps) {
    canonical_ = std::make_unique<CanonicalConstraint>(automaton_, masks_, std::move(steps), limits, std::move(cancel));
    if (canonical_->start(start(), {}).set == CanonicalConstraint::kRefused) throw Error(ErrorKind::empty, "canonical");
    return;
  }
  mask_of(start());  // the slowest: after it most of what the first steps ask is known
}

ExprId Guide::advance(ExprId state, std::string_view text) {
  const auto& class_of = automaton_.class_of();
  for (char byte : text) {
    if (state == ExprSet::kEmpty) return state;
    state = automaton_.row(state)[class_of[static_cast<std::uint8_t>(byte)]];
  }
  return state != ExprSet::kEmpty && automaton_.is_tokenizable(state) ? state : ExprSet::kEmpty;
}

void Guide::fill_end(std::uint32_t* row) const {
  std::fill_n(row, vocabulary_->word_count(), 0u);
  for (std::uint32_t id : vocabulary_->eos_ids()) row[id >> 5] |= 1u << (id & 31);
}

void Guide::write(const Mask& mask, ExprId state, std::uint32_t* row) const {
  mask.write(row, vocabulary_->word_count());
  if (accepting(state)) {
    for (std::uint32_t id : vocabulary_->eos_ids()) row[id >> 5] |= 1u << (id & 31);
  }
}

bool Guide::fill_from_cache(ExprId state, std::uint32_t* row) {
  const ExprId representative = automaton_.clamp_to_horizon(state, Automaton::Horizon::token);
  const std::shared_ptr<const Mask> mask = vocabulary_->cache().find(automaton_.hash(representative));
  if (mask) write(*mask, state, row);
  return mask != nullptr;
}

std::shared_ptr<const Mask> Guide::mask_of(ExprId state) {
  const ExprId representative = automaton_.clamp_to_horizon(state, Automaton::Horizon::token);
  std::shared_ptr<const Mask> mask = vocabulary_->cache().find(automaton_.hash(representative));
  if (mask) return mask;
  mask = masks_.compute(representative);
  vocabulary_->cache().insert(automaton_.hash(representative), mask);
  return mask;
}

void Guide::fill(ExprId state, std::uint32_t* row) { write(*mask_of(state), state, row); }

template <class Visit, class VisitAll>
std::int64_t Guide::walk(ExprId state, Visit visit, VisitAll visit_all) {
  return walk_tokens(*vocabulary_, automaton_, state, visit, visit_all);
}

bool Guide::fill_within(ExprId state, std::uint32_t tokens_after, std::uint32_t* row) {
  const std::shared_ptr<const Mask> mask = mask_of(state);
  write(*mask, state, row);
  // Where the mask is that of a state alike up to the horizon, the lengths of ends beyond it may be others.
  const bool every_byte = vocabulary_->tokenizable_texts() == nullptr;
  if (every_byte && automaton_.clamping_keeps_lengths(state) && mask->max_completion_bound() <= tokens_after)
    return false;
  if (budget_.slack(state, tokens_after)) return false;
  std::unordered_map<std::uint32_t, bool> verdicts;
  bool squeezed = false;
  const auto in_time = [&](ExprId next) {
    const auto [verdict, is_new] = verdicts.try_emplace(next.value);
    if (is_new) verdict->second = budget_.within(next, tokens_after);
    squeezed |= !verdict->second;
    return verdict->second;
  };
  const auto refuse = [row](std::uint32_t id) { row[id >> 5] &= ~(1u << (id & 31)); };
  walk(
      state,
      [&](const TrieNode& node, ExprId next) {
        if (in_time(next)) return;
        if (node.token & TrieNode::kShared) {
          for (std::uint32_t id : vocabulary_->shared_ids(node.token)) refuse(id);
        } else {
          refuse(node.token);
        }
      },
      [&](const Subtree& subtree, ExprId next) {
        if (in_time(next)) return;
        for (std::uint32_t k = subtree.first; k < subtree.last; ++k) refuse(vocabulary_->ids_in_order()[k]);
      });
  if (!squeezed) {
    std::vector<ExprId> successors;
    for (const auto& [next, verdict] : verdicts) successors.push_back(ExprId{next});
    budget_.settle(state, successors);
  }
  return squeezed;
}

bool Guide::allows_text(ExprId state) {
  std::vector<std::uint32_t> row(vocabulary_->word_count());
  fill(state, row.data());
  for (std::uint32_t id : vocabulary_->eos_ids()) row[id >> 5] &= ~(1u << (id & 31));
  return std::any_of(row.begin(), row.end(), [](std::uint32_t word) { return word != 0; });
}

std::vector<ExprId> Guide::successors(ExprId state, std::int64_t& visited) {
  std::vector<ExprId> found;
  std::unordered_set<std::uint32_t> seen;
  const auto add = [&](const auto&, ExprId next) {
    if (seen.insert(next.value).second) found.push_back(next);
  };
  visited += walk(state, add, add);
  return found;
}

void Guide::expand(ExprId state, const std::function<void(std::uint32_t, ExprId)>& visit) {
  if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw Error(ErrorKind::cancelled, "work");
  walk(
      state,
      [&](const TrieNode& node, ExprId next) {
        if (node.token & TrieNode::kShared) {
          for (std::uint32_t id : vocabulary_->shared_ids(node.token)) visit(id, next);
        } else {
          visit(node.token, next);
        }
      },
      [&](const Subtree& subtree, ExprId next) {
        for (std::uint32_t k = subtree.first; k < subtree.last; ++k) visit(vocabulary_->ids_in_order()[k], next);
      });
}

void Guide::expand(ExprId state, const std::vector<std::uint32_t>& ids,
                   const std::function<void(std::uint32_t, ExprId)>& visit) {
  if (cancel_ && cancel_->load(std::memory_order_relaxed)) throw Error(ErrorKind::cancelled, "work");
  for (std::uint32_t id : ids) {
    const ExprId next = advance(state, vocabulary_->bytes(id));
    if (next != ExprSet::kEmpty) visit(id, next);
  }
}

std::uint32_t Guide::token_between(ExprId from, ExprId to) {
  std::uint32_t lowest = UINT32_MAX;
  walk(
      from,
      [&](const TrieNode& node, ExprId next) {
        if (next != to) return;
        const std::uint32_t id = node.token & TrieNode::kShared ? vocabulary_->shared_ids(node.token)[0] : node.token;
        lowest = std::min(lowest, id);
      },
      [&](const Subtree& subtree, ExprId next) {
        if (next != to) return;
        for (std::uint32_t k = subtree.first; k < subtree.last; ++k) {
          lowest = std::min(lowest, vocabulary_->ids_in_order()[k]);
        }
      });
  return lowest;
}

ByteSet Guide::next_bytes(ExprId state) {
  ByteSet set;
  const ExprId* row = automaton_.row(state);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (row[automaton_.class_of()[byte]] != ExprSet::kEmpty) set.insert(static_cast<std::uint8_t>(byte));
  }
  return set;
}

}  // namespace detent
