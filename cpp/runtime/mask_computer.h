// MaskComputer: which tokens a state allows, found by walking the vocabulary's trie.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "automaton/automaton.h"
#include "mask/mask_cache.h"
#include "vocab/vocabulary.h"

namespace detent {

class MaskComputer {
 public:
  MaskComputer(const Vocabulary& vocabulary, Automaton& automaton) : vocabulary_(vocabulary), automaton_(automaton) {}

  // Cost: about linear in the part of the trie that the state tells apart.
  std::shared_ptr<const Mask> compute(ExprId state);
  // The mask of a beginning (Automaton::beginnings), with what is left of the tokens that leave it.
  std::shared_ptr<const Mask> slice_mask(ExprId beginning);
  // Calls visit(id, state behind it) for the tokens of which `state` allows what is left.
  template <class Visit>
  void walk(const ContextDependentTokens& crossing, ExprId state, Visit visit);

 private:
  // A state, with its mask, most tokens of which lead where those of another state lead; or no mask.
  struct ReferenceMask {
    ExprId state;
    std::shared_ptr<const Mask> mask;
    std::uint32_t safe = 0;  // tokens of up to that many bytes are allowed, and leave, as they do there
    bool inside = false;     // and so are all tokens, up to where they leave
  };
  // The state without the bound of its first repeat: a token takes a round a byte at most, so that only long ones can
  // tell.
  template <class MaskOf>
  ReferenceMask relaxed(ExprId state, MaskOf mask_of);
  // States with masks, none like another, among which a new one looks for one like it.
  struct RecentStates {
    std::mutex mutex;
    std::vector<ExprId> states;
  };
  ReferenceMask nearest_state(ExprId state, RecentStates& examples, std::uint64_t kind);
  static void remember(ExprId state, RecentStates& examples);
  static Hash128 key(const Hash128& hash, std::uint64_t kind) { return kind == 0 ? hash : mix(hash, kind); }

  // Where the tokens of a fragment leave it otherwise than those of one like it.
  struct ExitDelta {
    std::vector<std::uint32_t> added;                           // trie nodes
    std::vector<std::pair<std::uint32_t, std::uint32_t>> lost;  // ranges of them, ascending
  };
  // Adds the tokens that `state` allows.
  void walk(ExprId state, const ReferenceMask& like, MaskBuilder& builder, ExitDelta* exits);
  std::shared_ptr<const Mask> cached(ExprId state);
  std::shared_ptr<const ContextDependentTokens> merge_exits(const ContextDependentTokens* like,
                                                            const ExitDelta& exits) const;
  ExprId near(ExprId state) {
    return state == ExprSet::kEmpty ? state : automaton_.clamp_to_horizon(state, Automaton::Horizon::near);
  }

  static constexpr std::size_t kExamples = 8;

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  RecentStates masks_;
  RecentStates fragments_;
};

template <class Visit>
void MaskComputer::walk(const ContextDependentTokens& crossing, ExprId state, Visit visit) {
  const auto& class_of = automaton_.class_of();
  std::vector<const ExprId*> path(vocabulary_.max_token_length() + std::size_t{1});
  path[0] = automaton_.row(state);
  for (std::size_t i = 0; i < crossing.nodes.size();) {
    const ContextDependentTokens::Node& node = crossing.nodes[i];
    const ExprId next = path[node.depth][class_of[node.byte]];
    if (next == ExprSet::kEmpty) {
      i = node.next;
      continue;
    }
    for (std::uint32_t k = node.first; k < node.last; ++k) visit(crossing.ids[k], next);
    if (++i < node.next) path[node.depth + std::size_t{1}] = automaton_.row(next);
  }
}

}  // namespace detent
