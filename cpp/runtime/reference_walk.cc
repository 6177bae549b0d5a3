#include "runtime/reference_walk.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <vector>

#include "automaton/conjuncts.h"
#include "base/utf8_position.h"
#include "expr/lengths.h"
#include "runtime/conjunction_walk.h"
#include "runtime/exclusion_walk.h"
#include "runtime/trie_walk.h"

namespace detent {
namespace {

// Once a walk has used this much work, it follows sets of alternatives. The limit for grammars is higher: unless a
// grammar is ambiguous, it has few unions of stacks, whose rows cost less than a set of stacks at each node. A mask of
// C with a contextual lexer makes 346 states with 500,000 units of work; it has more than 70,000 stacks.
constexpr std::int64_t kMuchWork = 4'000;
constexpr std::int64_t kMuchWorkOfRules = 1'000'000;
// For at most this many targets, computing the states on the paths to them costs less than sets of alternatives.
constexpr std::size_t kFewTargets = 256;
constexpr std::size_t kManyNodes = 128;  // a walk over fewer costs less than the search for a loop

std::optional<TargetNodes> find_targets(const Vocabulary& vocabulary, const ReferenceMask& reference) {
  if (reference.equal_inside) return TargetNodes(reference.mask->context_dependent()->exits);
  if (!reference.is_larger || reference.equal_below < TokenTrie::kLongToken) return std::nullopt;
  return TargetNodes(vocabulary, *reference.mask, reference.equal_below, reference.equal_below_characters);
}

}  // namespace

bool prefers_conjuncts(const Automaton& automaton) { return automaton.has_searches() && !automaton.is_compiling(); }

bool follows_conjuncts(Automaton& automaton, ExprId state) {
  constexpr std::size_t kFew = 3;
  return prefers_conjuncts(automaton) && automaton.edit([state](ExprSet& exprs, Derivatives&, Liveness&) {
    return conjuncts_of(exprs, state).size() > kFew;
  });
}

void ExitDelta::note(std::size_t node, std::uint32_t next, Leaving state, Leaving reference) {
  const auto at = static_cast<std::uint32_t>(node);
  if (!reference.is_live) {
    if (state.accepting) added.push_back(at);
  } else if (!state.is_live) {
    removed.emplace_back(at, next);
  } else if (reference.accepting && !state.accepting) {
    removed.emplace_back(at, at + 1);
  } else if (state.accepting && !reference.accepting) {
    added.push_back(at);
  }
}

ReferenceWalk::ReferenceWalk(const Vocabulary& vocabulary, Automaton& automaton, const ReferenceMask& reference,
                             MaskBuilder& builder, ExitDelta* exits, TokenCheck check, KeptSearch* kept)
    : vocabulary_(vocabulary),
      automaton_(automaton),
      reference_(reference),
      builder_(builder),
      exits_(exits),
      trie_(vocabulary.trie()),
      check_tokens_(check == TokenCheck::tokenizable),
      first_work_(automaton.work()),
      targets_(find_targets(vocabulary, reference)),
      alternative_walk_(vocabulary, automaton, builder, exits, targets_ ? &*targets_ : nullptr, reference.equal_below),
      kept_(kept),
      path_(std::make_unique_for_overwrite<Position[]>(vocabulary.max_token_length() + std::size_t{1})) {}

ReferenceWalk::~ReferenceWalk() = default;

void ReferenceWalk::run(ExprId state) {
  if (!check_tokens_ && !reference_.mask && !exits_ && automaton_.begins_with_literal(state)) {
    walk(follow_literal(state, 0, trie_.size()), trie_.size());
    return;
  }
  if (targets_ && !check_tokens_ && (reference_.equal_inside || targets_->nodes().size() <= kFewTargets)) {
    run_to_targets(state);
    return;
  }
  if (prefers_conjuncts(automaton_) && !check_tokens_ && !reference_.equal_inside &&
      walk_conjuncts(state, reference_.mask ? reference_.state : ExprSet::kEmpty, 0, trie_.size())) {
    return;
  }
  if (walk_exclusions(state, 0, trie_.size(), reference_.mask != nullptr)) return;
  const auto& class_of = automaton_.class_of();
  path_[0] = {state, automaton_.row(state), reference_.mask ? automaton_.row(reference_.state) : nullptr};
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint8_t byte_class = class_of[byte];
    const ExprId reference_next = path_[0].reference_row ? path_[0].reference_row[byte_class] : ExprSet::kEmpty;
    if (path_[0].row[byte_class] == reference_next) continue;
    const std::uint32_t root = vocabulary_.root(static_cast<std::uint8_t>(byte));
    walk(root, root + std::size_t{vocabulary_.nodes_below(static_cast<std::uint8_t>(byte))});
  }
}

void ReferenceWalk::run_below(ExprId state, std::size_t first, std::size_t end) {
  if (walk_exclusions(state, first, end, false)) return;
  path_[trie_[first].depth] = {state, automaton_.row(state), nullptr};
  walk(first, end);
}

void ReferenceWalk::walk(std::size_t first, std::size_t end) {
  const auto& class_of = automaton_.class_of();
  for (std::size_t i = next_after_detours(first); i < end; i = next_after_detours(i)) {
    const TrieNode& node = trie_[i];
    if (is_shorter_below(vocabulary_, i, reference_.equal_below)) {
      i = node.next;
      continue;
    }
    if (targets_ && !targets_->any_between(i, node.next)) {
      if (targets_->are_passed()) return;
      i = node.next;
      continue;
    }
    const Position at = path_[node.depth];
    const ExprId next = at.row[class_of[node.byte]];
    const ExprId reference_next = at.reference_row ? at.reference_row[class_of[node.byte]] : ExprSet::kEmpty;
    if (allow_same_tokens(next, reference_next, i)) {
      i = node.next;
      continue;
    }
    if (exits_) {
      exits_->note(i, node.next, {next != ExprSet::kEmpty, automaton_.accepting(next)},
                   {reference_next != ExprSet::kEmpty, automaton_.accepting(reference_next)});
    }
    if (next == ExprSet::kEmpty) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.refuse(id); });
      continue;
    }
    if (node.subtree && take_subtree(at, next, reference_next, i)) {
      i = node.next;
      continue;
    }
    if (next != at.state && take_live(at.state, i)) {
      i = node.next;
      continue;
    }
    allow_token(node, next);
    const bool may_be_loop = reference_next == ExprSet::kEmpty && node.subtree && node.next - i > kManyNodes;
    if (may_be_loop && take_loop(at.state, i)) {
      i = node.next;
      continue;
    }
    if (++i == node.next) continue;
    if (walk_exclusions(next, i, node.next, reference_next != ExprSet::kEmpty)) {
      i = node.next;
      continue;
    }
    if (has_worked_much(next) && !check_tokens_ && !reference_.equal_inside) {
      // No conjuncts while compiling: a language that needs too many states must be refused at its first mask.
      if (automaton_.is_compiling() || !walk_conjuncts(next, reference_next, i, node.next)) {
        alternative_walk_.run(next, reference_next, i, node.next);
      }
      i = node.next;
    } else if (reference_next == ExprSet::kEmpty && !check_tokens_ && !exits_ && automaton_.begins_with_literal(next)) {
      i = follow_literal(next, i, node.next);
    } else {
      path_[node.depth + std::size_t{1}] = {
          next, next == at.state ? at.row : automaton_.row(next),
          reference_next == ExprSet::kEmpty ? nullptr : automaton_.row(reference_next)};
    }
  }
}

void ReferenceWalk::run_to_targets(ExprId state) {
  const auto& class_of = automaton_.class_of();
  std::vector<ExprId> path{state};  // path[d]: after the first d bytes of `text`
  std::string_view text;
  for (std::uint32_t node : targets_->nodes()) {
    const std::string_view next_text = vocabulary_.text_of_node(node);
    const auto common = std::ranges::mismatch(text, next_text).in1 - text.begin();
    path.resize(static_cast<std::size_t>(common) + 1);
    text = next_text;
    const std::uint32_t bound = automaton_.edit([&](ExprSet& exprs, Derivatives& derivatives, Liveness& liveness) {
      for (char byte : text.substr(path.size() - 1)) {
        const ExprId at = path.back();
        path.push_back(at == ExprSet::kEmpty ? at : derivatives.row(at)[class_of[static_cast<std::uint8_t>(byte)]]);
      }
      return exprs[path.back()].nullable ? 0 : liveness.bound(path.back());
    });
    decide_target(node, path.back(), bound);
  }
}

// Decides one target: refuses its token if the state is dead; removes the exit if the state does not accept there. The
// reference accepts at each of its exits.
void ReferenceWalk::decide_target(std::uint32_t node, ExprId next, std::uint32_t completion_bound) {
  if (completion_bound == Liveness::kDead) {
    for_each_id(vocabulary_, trie_[node].token, [this](auto id) { builder_.refuse(id); });
  } else if (trie_[node].token != TrieNode::kNoToken) {
    builder_.note_length(completion_bound);
  }
  if (!exits_ || automaton_.accepting(next)) return;
  const std::vector<std::uint32_t>& exits = reference_.mask->context_dependent()->exits;
  if (std::ranges::binary_search(exits, node)) exits_->removed.emplace_back(node, node + 1);
}

// Returns false, and does nothing, where the state has no conjuncts to follow.
bool ReferenceWalk::walk_conjuncts(ExprId next, ExprId reference_next, std::size_t first, std::size_t end) {
  if (!conjunction_walk_) {
    conjunction_walk_ =
        std::make_unique<ConjunctionWalk>(vocabulary_, automaton_, builder_, exits_, reference_.equal_below, kept_);
  }
  return conjunction_walk_->run(next, reference_next, first, end);
}

// Returns false, and does nothing, where the state has another form.
bool ReferenceWalk::walk_exclusions(ExprId next, std::size_t first, std::size_t end, bool has_reference) {
  if (exits_ || check_tokens_ || reference_.equal_inside || !follows_exclusions(automaton_, next)) return false;
  if (!exclusion_walk_) exclusion_walk_ = std::make_unique<ExclusionWalk>(vocabulary_, automaton_, builder_);
  return exclusion_walk_->run(next, first, end, has_reference);
}

bool ReferenceWalk::has_worked_much(ExprId next) const {
  return automaton_.work() - first_work_ > (automaton_.has_rule(next) ? kMuchWorkOfRules : kMuchWork);
}

std::size_t ReferenceWalk::next_after_detours(std::size_t i) {
  while (!detours_.empty() && i >= detours_.back().end) {
    i = detours_.back().resume;
    detours_.pop_back();
  }
  return i;
}

// Whether both states allow the same tokens at and below node `i`: they are equal, or equal after clamping (near), and
// no token below is longer than the horizon of the clamping.
bool ReferenceWalk::allow_same_tokens(ExprId next, ExprId reference_next, std::size_t i) {
  if (next == reference_next) return true;
  const bool is_near = vocabulary_.height(i) < Automaton::kNear;
  if (reference_next == ExprSet::kEmpty || !is_near) return false;
  if (near(next) != near(reference_next)) return false;
  note_completion(next);
  // The states after longer tokens have the completions of those of the reference, but for lower bounds that differ.
  if (near(next) != next && has_large_minimum(next)) builder_.note_length(automaton_.max_completion_bound(next));
  return true;
}

// Whether clamping to Automaton::kNear changes the lengths of completions.
bool ReferenceWalk::has_large_minimum(ExprId state) {
  return automaton_.edit(
      [state](ExprSet& exprs, Derivatives&, Liveness&) { return exprs[state].largest_minimum > Automaton::kNear; });
}

// Whether every token of a subtree that loops at `from` leads to a tokenizable state. A token may end inside a
// character; the continuation bytes then lead back to `from`.
bool ReferenceWalk::stays_tokenizable_below(ExprId from, const Subtree& subtree) {
  return (subtree.whole || ByteSet::range(0x80, 0xBF).is_subset_of(vocabulary_.token_bytes())) &&
         automaton_.is_tokenizable(from);
}

// Allows the whole subtree in one step if each of its characters leads the state back to itself. For counted loops, the
// clamped state counts (near), if the subtree is not deeper than its horizon. Returns whether it did.
bool ReferenceWalk::take_subtree(const Position& at, ExprId next, ExprId reference_next, std::size_t i) {
  constexpr std::uint32_t kFewTokens = 8;  // their states cost less than the loop bytes
  if (reference_.equal_inside) return false;
  const TrieNode& node = trie_[i];
  const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
  if (next != at.state && subtree.last - subtree.first < kFewTokens) return false;
  const ExprId from = subtree.height <= Automaton::kNear ? near(at.state) : at.state;
  // Finding the loop bytes costs transition rows, so test first whether this byte rules a loop out.
  const bool may_loop = next == at.state || from != at.state || node.byte >= 0x80;
  const bool may_leave = exits_ && automaton_.accepting(next);
  if (!may_loop || may_leave || !subtree.used.is_subset_of(automaton_.self_loop_bytes(from))) {
    return false;
  }
  if (check_tokens_ && !stays_tokenizable_below(from, subtree)) return false;
  if (exits_ && reference_next != ExprSet::kEmpty) {
    exits_->removed.emplace_back(static_cast<std::uint32_t>(i), node.next);
  }
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  if (at.state != noted_) {  // a token may end inside a character
    builder_.note_length(saturating_add(automaton_.completion_bound(noted_ = at.state), kMaxContinuationBytes));
  }
  return true;
}

// Allows all tokens at and below node `i` if the state `from` stays live over their bytes. The states inside are not
// visited. Returns whether it did. Not for lists of distinct items, whose liveness depends on more than the form. Nor
// while compiling: a language that needs too many states must be refused at its first mask.
bool ReferenceWalk::take_live(ExprId from, std::size_t i) {
  if (exits_ || check_tokens_ || reference_.equal_inside || automaton_.is_compiling()) return false;
  if (!automaton_.has_rule(from) || automaton_.has_lists()) return false;
  const TrieNode& node = trie_[i];
  const Automaton::LiveBytes& live = automaton_.live_bytes(from);
  if (!live.bytes.contains(static_cast<std::uint8_t>(node.byte))) return false;
  if (node.subtree) {
    const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
    if (!subtree.used.is_subset_of(live.bytes)) return false;
    builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  } else {
    for (std::size_t below = i; below < node.next; ++below) {
      if (trie_[below].byte >= 0x80 || !live.bytes.contains(static_cast<std::uint8_t>(trie_[below].byte))) return false;
    }
    for (std::size_t below = i; below < node.next; ++below) {
      for_each_id(vocabulary_, trie_[below].token, [this](auto id) { builder_.allow(id); });
    }
  }
  builder_.note_length(saturating_add(live.completion_bound, kMaxContinuationBytes));
  return true;
}

// Node `i` begins a character in state `from`. If most bytes below lead the state after this character back to itself,
// allows all tokens that have only such bytes, and walks only below the other bytes. Returns whether it did.
bool ReferenceWalk::take_loop(ExprId from, std::size_t i) {
  constexpr std::size_t kFewOthers = 4;  // at most one node in kFewOthers has another byte
  const TrieNode& node = trie_[i];
  const std::size_t first = i + 1, size = node.next - first;
  if (check_tokens_) return false;
  const ExprId next = automaton_.after_character(from, static_cast<std::uint8_t>(node.byte));
  if (next == ExprSet::kEmpty) return false;
  const Position at{next, automaton_.row(next), nullptr};
  const ByteSet& used = vocabulary_.subtrees()[node.subtree].used;
  std::vector<std::span<const std::uint32_t>> left;  // the nodes of each byte that leaves the loop
  std::size_t count = 0;
  for (std::uint8_t byte : vocabulary_.bytes_by_count()) {
    if (!used.contains(byte)) continue;
    const bool is_loop = byte < 0x80 ? at.row[automaton_.class_of()[byte]] == next
                                     : automaton_.self_loop_bytes(next).contains(byte);  // costs rows at the first call
    if (is_loop) continue;
    left.push_back(vocabulary_.nodes_with(byte, first, node.next));
    count += left.back().size();
    if (count > size / kFewOthers) return false;
  }
  std::vector<std::uint64_t> others((size + 63) / 64);  // a bit for each node
  for (std::span<const std::uint32_t> nodes : left) {
    for (std::uint32_t other : nodes) others[(other - first) / 64] |= std::uint64_t{1} << (other - first) % 64;
  }
  std::size_t done = first;  // the nodes before this one are decided
  for (std::size_t word = 0; word < others.size(); ++word) {
    for (std::uint64_t bits = others[word]; bits != 0; bits &= bits - 1) {
      const std::size_t other = first + word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (other < done) continue;
      allow_nodes(done, other);
      path_[trie_[other].depth] = at;
      done = trie_[other].next;
      walk(other, done);
    }
  }
  allow_nodes(done, node.next);
  // A token may end inside a character.
  builder_.note_length(saturating_add(automaton_.completion_bound(next), kMaxContinuationBytes));
  return true;
}

// Allows the tokens of the nodes [first, end).
void ReferenceWalk::allow_nodes(std::size_t first, std::size_t end) {
  for (std::size_t i = first; i < end;) {
    const TrieNode& node = trie_[i];
    if (node.subtree && node.next <= end) {
      const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
      builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
      i = node.next;
    } else {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      ++i;
    }
  }
}

void ReferenceWalk::allow_token(const TrieNode& node, ExprId next) {
  if (check_tokens_ && node.token != TrieNode::kNoToken && !automaton_.is_tokenizable(next)) {
    if (path_[0].reference_row) for_each_id(vocabulary_, node.token, [this](auto id) { builder_.refuse(id); });
    return;
  }
  for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
  if (node.token != TrieNode::kNoToken) note_completion(next);
}

// Allows the tokens at the nodes [first, end) that are prefixes of the literal that `from` begins with. Returns the
// node where the walk continues: below the end of the literal, or `end`.
std::size_t ReferenceWalk::follow_literal(ExprId from, std::size_t first, std::size_t end) {
  builder_.note_length(automaton_.completion_bound(from));
  const ExprId after = automaton_.after_literal(from, literal_);
  std::size_t i = first, last = first, subtree_end = end;
  for (char byte : literal_) {
    while (i < subtree_end && trie_[i].byte != static_cast<std::uint8_t>(byte)) i = trie_[i].next;
    if (i >= subtree_end) return end;
    for_each_id(vocabulary_, trie_[i].token, [this](auto id) { builder_.allow(id); });
    last = i++;
    subtree_end = trie_[last].next;
  }
  if (i >= subtree_end) return end;
  path_[trie_[last].depth + std::size_t{1}] = {after, automaton_.row(after), nullptr};
  detours_.push_back({subtree_end, end});
  return i;
}

void ReferenceWalk::note_completion(ExprId next) {
  if (next != noted_) builder_.note_length(automaton_.completion_bound(noted_ = next));
}

}  // namespace detent
