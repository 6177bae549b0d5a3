#include "runtime/canonical_alternative_walk.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

namespace detent {
namespace {

// Of the positions that a walk remembers, about; and of one beside its elements and successors.
constexpr std::size_t kMostBytes = 16 << 20, kPositionBytes = 64;

bool is_continuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0) == 0x80; }

// The ASCII bytes and lead bytes of a text.
ByteSet bytes_used(std::string_view text) {
  ByteSet used;
  for (char byte : text) {
    if (!is_continuation(byte)) used.insert(static_cast<std::uint8_t>(byte));
  }
  return used;
}

}  // namespace

void CanonicalAlternativeWalk::run() {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto& class_of = language_.automaton.class_of();
  std::vector<Position> path(vocabulary_.max_token_length() + std::size_t{1});  // path[d]: after d bytes
  path[0] = start();
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size();) {
    const TrieNode& node = trie[i];
    if (bytes_ > kMostBytes) forget_positions(std::span(path).first(node.depth + std::size_t{1}));
    const Position at = path[node.depth];
    ++visited;
    if (node.subtree && take_subtree(at, vocabulary_.subtrees()[node.subtree], node.depth)) {
      i = node.next;
      continue;
    }
    const Position after = path[node.depth + std::size_t{1}] = follow(at, class_of[node.byte]);
    if (is_empty(after)) {
      i = node.next;
      continue;
    }
    for_each_id(vocabulary_, node.token, [&](std::uint32_t token) { decide(token, after); });
    ++i;
  }
  language_.meter.step(visited / 8 + 1);
}

CanonicalAlternativeWalk::Position CanonicalAlternativeWalk::start() {
  constexpr int kMostBytesOfLoop = 96;
  Alternatives at;
  alternatives_.begin(at.others);
  alternatives_.add(language_.automaton.split(state_), at.others);
  for (AlternativeId id : at.others) {
    if (kept_bytes(id).size() < kMostBytesOfLoop) continue;
    loops_.push_back(id);
    if (id.value >= is_loop_.size()) is_loop_.resize(id.value + std::size_t{1});
    is_loop_[id.value] = true;
  }
  std::ranges::stable_sort(loops_, {}, [this](AlternativeId id) { return alternatives_[id].completion_bound; });
  at.has_loops = separate_loops(alternatives_, at.others, false);
  return add(at);
}

// The order of the others stays: decide() asks them in this order.
CanonicalAlternativeWalk::Position CanonicalAlternativeWalk::add(const Alternatives& alternatives) {
  key_.clear();
  if (alternatives.has_loops) key_.push_back(kLoops);
  key_.insert(key_.end(), alternatives.others.begin(), alternatives.others.end());
  const std::size_t count = positions_.size();
  const Position position = positions_.add(key_);
  if (position == count) {
    const std::size_t successor_bytes = sizeof(Position) * language_.automaton.class_count();
    bytes_ += kPositionBytes + sizeof(AlternativeId) * key_.size() + successor_bytes;
  }
  return position;
}

CanonicalAlternativeWalk::Position CanonicalAlternativeWalk::follow(Position at, std::uint8_t byte_class) {
  if (const Position known = positions_.successor(at, byte_class); known != Table::kUnknown) return known;
  alternatives_.begin(after_.others);
  after_.has_loops = false;
  if (has_loops(at)) {
    const LoopSuccessors& of_loops = after_loops(byte_class);
    after_.has_loops = of_loops.has_loops;
    alternatives_.add(of_loops.others, after_.others);
  }
  alternatives_.add_successors(others(at), byte_class, after_.others);
  after_.has_loops = separate_loops(alternatives_, after_.others, after_.has_loops);
  drop_included(after_);
  language_.meter.step(std::ssize(others(at)) / 8 + 1);
  const Position after = add(after_);
  positions_.set_successor(at, byte_class, after);
  return after;
}

// Forgets all positions but those of a path.
void CanonicalAlternativeWalk::forget_positions(std::span<Position> path) {
  std::vector<Alternatives> kept;
  for (Position at : path) kept.push_back({{others(at).begin(), others(at).end()}, has_loops(at)});
  positions_ = Table(language_.automaton.class_count());
  bytes_ = 0;
  for (std::size_t i = 0; i < path.size(); ++i) path[i] = add(kept[i]);
}

const CanonicalAlternativeWalk::LoopSuccessors& CanonicalAlternativeWalk::after_loops(std::uint8_t byte_class) {
  if (after_loops_.empty()) after_loops_.resize(language_.automaton.class_count());
  LoopSuccessors& known = after_loops_[byte_class];
  if (!std::exchange(known.is_known, true)) {
    AlternativeSets sets(language_.automaton);  // a set may be open in alternatives_
    sets.find_successors(loops_, byte_class, known.others);
    known.has_loops = separate_loops(sets, known.others, false);
    language_.meter.step(static_cast<std::int64_t>(loops_.size()) / 8 + 1);
  }
  return known;
}

// Removes loops_ from the set that began last in `sets`, if it has all of them, or if the position has them anyway.
// Returns whether it has them.
bool CanonicalAlternativeWalk::separate_loops(const AlternativeSets& sets, AlternativeSet& set, bool has_loops) const {
  if (loops_.empty()) return false;
  if (!has_loops && !std::ranges::all_of(loops_, [&](AlternativeId id) { return sets.has(id); })) return false;
  std::erase_if(set, [this](AlternativeId id) { return is_loop(id); });
  return true;
}

void CanonicalAlternativeWalk::drop_included(Alternatives& at) {
  if (!at.has_loops) return alternatives_.drop_included(at.others);
  if (!alternatives_.is_compared(at.others.size() + loops_.size())) return;
  AlternativeSet all = at.others;
  all.insert(all.end(), loops_.begin(), loops_.end());
  alternatives_.drop_included(all);
  std::erase_if(all, [this](AlternativeId id) { return is_loop(id); });
  at.others = std::move(all);
}

// Whether no text over some bytes, ASCII bytes and lead bytes, takes anything from an alternative. Each such text leads
// it to itself, to states of which it is one, or to one that allows as much. `count` is the number of such texts.
bool CanonicalAlternativeWalk::stays(AlternativeId id, const ByteSet& used, std::uint32_t count) {
  if (used.is_subset_of(kept_bytes(id))) return true;
  const AlternativeLoop* found = alternatives_.loop(id, count);
  return found && found->loop.keeps_all && used.is_subset_of(found->loop.bytes);
}

// The ASCII bytes that lead an alternative to itself, and perhaps to others, and the lead bytes of characters that lead
// it to itself alone.
const ByteSet& CanonicalAlternativeWalk::kept_bytes(AlternativeId id) {
  if (id.value >= kept_bytes_.size()) kept_bytes_.resize(id.value * 3 / 2 + 64);
  std::optional<ByteSet>& known = kept_bytes_[id.value];
  if (!known) {
    known = language_.automaton.self_loop_bytes(alternatives_[id].state);
    for (std::uint8_t byte = 0; byte < 0x80; ++byte) {
      const std::span<const AlternativeId> next = alternatives_[id].after(language_.automaton.class_of()[byte]);
      if (std::ranges::find(next, id) != next.end()) known->insert(byte);
    }
  }
  return *known;
}

CanonicalAlternativeWalk::Verdicts::Answer CanonicalAlternativeWalk::take(std::uint32_t token, AlternativeId id) {
  const ExprId next = alternatives_[id].state;
  return language_.automaton.is_tokenizable(next) ? verdicts_.take(token, next) : Verdicts::Answer::never;
}

// An alternative that stays throughout a subtree: the loop that is nearest to its completion, or else the nearest of
// the others. Near a token limit, most tokens fit by way of the nearest one alone. Case: `.*a.{10}|...|.*p.{25}` on
// Llama 3, 23 tokens before a limit: a mask visits 31,000 nodes instead of 102,000, and 1,400 positions instead of
// 30,000.
std::optional<AlternativeId> CanonicalAlternativeWalk::staying(Position at, const Subtree& subtree) {
  const auto find = [&](std::span<const AlternativeId> set) -> std::optional<AlternativeId> {
    const auto found = std::ranges::find_if(
        set, [&](AlternativeId id) { return stays(id, subtree.used, subtree.last - subtree.first); });
    return found == set.end() ? std::nullopt : std::optional(*found);
  };
  if (const auto found = has_loops(at) ? find(loops_) : std::nullopt) return found;
  AlternativeSet nearest_first(others(at).begin(), others(at).end());
  std::ranges::stable_sort(nearest_first, {}, [this](AlternativeId id) { return alternatives_[id].completion_bound; });
  return find(nearest_first);
}

// Decides the tokens of a subtree if an alternative stays throughout, and nearly all tokens may follow by way of it.
bool CanonicalAlternativeWalk::take_subtree(Position at, const Subtree& subtree, std::size_t depth) {
  if (!subtree.whole) return false;
  const std::optional<AlternativeId> stays = staying(at, subtree);
  if (!stays) return false;
  const auto ids = std::span(vocabulary_.ids_in_order()).subspan(subtree.first, subtree.last - subtree.first);
  std::vector<std::uint32_t> others;
  language_.meter.step(static_cast<std::int64_t>(ids.size()) / 8 + 1);
  for (std::uint32_t token : ids) {
    const bool is_refused = verdicts_.target(token) == TransitionRow::kRefused;
    if (!is_refused && take(token, *stays) != Verdicts::Answer::taken) others.push_back(token);
    if (others.size() > ids.size() / 2) return false;
  }
  for (std::uint32_t token : others) decide(token, after_token(at, token, depth));
  return true;
}

// The alternatives after the bytes of a token from `depth` on.
CanonicalAlternativeWalk::Position CanonicalAlternativeWalk::after_token(Position at, std::uint32_t token,
                                                                         std::size_t depth) {
  for (char byte : vocabulary_.bytes(token).substr(depth)) {
    at = follow(at, language_.automaton.class_of()[static_cast<std::uint8_t>(byte)]);
  }
  return at;
}

void CanonicalAlternativeWalk::decide(std::uint32_t token, Position after) {
  const std::uint16_t target = verdicts_.target(token);
  if (target == TransitionRow::kRefused) return;
  const auto takes = [&](AlternativeId id) { return take(token, id) == Verdicts::Answer::taken; };
  const std::span<const AlternativeId> others = this->others(after);
  const bool has_last = is_loop(last_) ? has_loops(after) : std::ranges::find(others, last_) != others.end();
  if (has_last && takes(last_)) return;
  if (has_loops(after) && take_by_loops(token, target)) return;
  if (const auto found = std::ranges::find_if(others, takes); found != others.end()) last_ = *found;
}

bool CanonicalAlternativeWalk::take_by_loops(std::uint32_t token, std::uint16_t target) {
  if (target >= is_refused_by_loops_.size()) is_refused_by_loops_.resize(target + std::size_t{1});
  if (is_refused_by_loops_[target]) return false;
  bool is_never = true;
  for (AlternativeId id : loops_) {
    const Verdicts::Answer answer = take(token, id);
    if (answer == Verdicts::Answer::taken) {
      last_ = id;
      return true;
    }
    is_never = is_never && answer == Verdicts::Answer::never;
  }
  is_refused_by_loops_[target] = is_never;
  return false;
}

std::vector<ExprId> CanonicalAlternativeWalk::states_after(const TokenizedLanguage& language, ExprId state,
                                                           std::uint32_t token) {
  class TakeAll final : public Verdicts {
    std::uint16_t target(std::uint32_t) override { return 0; }
    Answer take(std::uint32_t, ExprId) override { return Answer::taken; }
  } verdicts;
  CanonicalAlternativeWalk walk(language, verdicts, state);
  std::vector<ExprId> states;
  const auto add = [&](AlternativeId id) {
    const ExprId next = walk.alternatives_[id].state;
    if (language.automaton.is_tokenizable(next)) states.push_back(next);
  };
  const std::string_view text = language.vocabulary().bytes(token);
  AlternativeSet set = language.automaton.split(state), after;
  for (std::size_t depth = 0; depth < text.size(); ++depth) {
    if (!is_continuation(text[depth])) {  // as take_subtree(), which knows which bytes follow
      const ByteSet used = bytes_used(text.substr(depth));
      for (AlternativeId id : set) {
        if (walk.stays(id, used, UINT32_MAX)) add(id);
      }
    }
    walk.alternatives_.find_successors(set, language.automaton.class_of()[static_cast<std::uint8_t>(text[depth])],
                                       after);
    language.meter.step(static_cast<std::int64_t>(set.size()) / 8 + 1);
    std::swap(set, after);
  }
  for (AlternativeId id : set) add(id);
  return states;
}

}  // namespace detent
