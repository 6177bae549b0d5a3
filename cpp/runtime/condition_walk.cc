#include "runtime/condition_walk.h"

#include <algorithm>

#include "automaton/conditioned_slices.h"
#include "expr/parts.h"
#include "runtime/trie_walk.h"

namespace detent {

ConditionWalk::ConditionWalk(const Vocabulary& vocabulary, Automaton& automaton, MaskBuilder& builder)
    : vocabulary_(vocabulary),
      automaton_(automaton),
      builder_(builder),
      sets_(automaton.class_count()),
      path_(std::make_unique_for_overwrite<Position[]>(vocabulary.max_token_length() + std::size_t{1})) {
  const ExprId all = automaton.edit([](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.sigma_star(); });
  sets_.add({all});  // kDead; an empty set excludes no text
}

bool ConditionWalk::run(ExprId condition, ExprId reference) {
  const std::vector<TrieNode>& trie = vocabulary_.trie();
  const auto most_work = static_cast<std::int64_t>(trie.size());
  const auto& class_of = automaton_.class_of();
  path_[0] = {start(condition), reference == ExprSet::kEmpty ? kDead : start(reference)};
  std::int64_t visited = 0;
  for (std::size_t i = 0; i < trie.size() && work_ <= most_work; ++visited) {
    const TrieNode& node = trie[i];
    const Position at = path_[node.depth];
    const std::uint8_t byte_class = class_of[node.byte];
    const SetId next = successor(at.set, byte_class);
    const SetId reference_next = at.reference == kDead ? kDead : successor(at.reference, byte_class);
    if (next == reference_next || (next == at.set && node.subtree && take_subtree(next, node))) {
      i = node.next;
    } else if (next == kDead) {
      for (; i < node.next; ++i) for_each_id(vocabulary_, trie[i].token, [this](auto id) { builder_.refuse(id); });
    } else {
      for_each_id(vocabulary_, node.token, [this](auto id) { builder_.allow(id); });
      path_[node.depth + std::size_t{1}] = {next, reference_next};
      ++i;
    }
  }
  automaton_.add_work(work_ / 2 + visited / 8);
  return work_ <= most_work;
}

ConditionWalk::SetId ConditionWalk::start(ExprId condition) {
  after_ = automaton_.edit([condition](ExprSet& exprs, Derivatives&, Liveness&) {
    return operands_of(exprs, exprs[condition].part(), Op::union_of);
  });
  return add(after_);
}

// A set is dead where an excluded text was read, and any text may follow. A whole word at the end is excluded, too, but
// not with each text that follows.
ConditionWalk::SetId ConditionWalk::follow(SetId set, std::uint8_t byte_class) {
  const bool is_live = automaton_.edit([&](ExprSet& exprs, Derivatives& derivatives, Liveness&) {
    after_.clear();
    for (ExprId text : sets_[set]) {
      const ExprId next = derivatives.row(text)[byte_class];
      const std::size_t first = after_.size();
      if (exprs[next].op == Op::union_of) {
        after_.insert(after_.end(), exprs.operands(next).begin(), exprs.operands(next).end());
      } else if (next != ExprSet::kEmpty) {
        after_.push_back(next);
      }
      if (!exprs[next].nullable) continue;
      if (std::any_of(after_.begin() + static_cast<std::ptrdiff_t>(first), after_.end(),
                      [&exprs](ExprId each) { return is_any_text(exprs, each); })) {
        return false;
      }
    }
    return true;
  });
  work_ += static_cast<std::int64_t>(sets_[set].size() + after_.size());
  const SetId next = is_live ? add(after_) : kDead;
  sets_.set_successor(set, byte_class, next);
  return next;
}

ConditionWalk::SetId ConditionWalk::add(std::vector<ExprId>& texts) {
  std::ranges::sort(texts, {}, &ExprId::value);
  texts.erase(std::ranges::unique(texts).begin(), texts.end());
  const std::size_t before = sets_.size();
  const SetId id = sets_.add(texts);
  if (id == before) work_ += automaton_.class_count() / 8;  // of its successors
  return id;
}

const ByteSet& ConditionWalk::loops_of(SetId set) {
  if (loops_.size() <= set) loops_.resize(sets_.size());
  if (!loops_[set]) {
    ByteSet loops;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (successor(set, automaton_.class_of()[byte]) == set) loops.insert(static_cast<std::uint8_t>(byte));
    }
    loops_[set] = loops;
  }
  return *loops_[set];
}

// Allows a whole subtree at once if each of its bytes leads back to the set.
bool ConditionWalk::take_subtree(SetId set, const TrieNode& node) {
  static const ByteSet ascii = ByteSet::range(0, 0x7F), continuation = ByteSet::range(0x80, 0xBF);
  const Subtree& subtree = vocabulary_.subtrees()[node.subtree];
  const ByteSet& loops = loops_of(set);
  if (!subtree.used.is_subset_of(loops)) return false;
  if (!subtree.used.is_subset_of(ascii) && !continuation.is_subset_of(loops)) return false;
  builder_.allow(vocabulary_.ids_in_order().data() + subtree.first, subtree.last - subtree.first);
  return true;
}

}  // namespace detent
