#include "runtime/draft_tree.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace detent {

namespace {

// The rows of one call: each mask is written once.
class SharedRows {
 public:
  SharedRows(std::uint32_t* rows, std::size_t words) : rows_(rows), words_(words) {}

  std::int32_t row_of(Matcher& matcher) {
    const std::optional<Matcher::MaskKey> key = matcher.mask_key();
    if (!key) return fill(matcher);  // the budget may remove tokens: the mask is of this node alone
    for (const Known& known : known_) {
      if (known.key == *key) return known.row;
    }
    TokenMachine& machine = *matcher.machine_of(*key);
    std::shared_ptr<const Mask> mask = key->state.is_finished() ? nullptr : machine.cached_mask(key->state);
    const bool accepts = mask && machine.accepting(key->state);
    if (mask) {
      for (const Known& known : known_) {
        if (known.accepts != accepts || !known.mask) continue;
        if (known.mask == mask || known.mask->has_same_form(*mask)) {
          const std::int32_t row = known.row;
          known_.push_back({*key, std::move(mask), accepts, row});
          return row;
        }
      }
    }
    const std::int32_t row = fill(matcher);
    known_.push_back({*key, std::move(mask), accepts, row});
    return row;
  }

  std::int32_t row_of_refused(const Vocabulary& vocabulary) {
    if (refused_ < 0) {
      refused_ = static_cast<std::int32_t>(count_++);
      vocabulary.fill_eos(rows_ + static_cast<std::size_t>(refused_) * words_);
    }
    return refused_;
  }

  std::size_t count() const { return count_; }

 private:
  struct Known {
    Matcher::MaskKey key;
    std::shared_ptr<const Mask> mask;
    bool accepts;
    std::int32_t row;
  };

  std::int32_t fill(Matcher& matcher) {
    std::uint32_t* const row = rows_ + count_ * words_;
    if (!matcher.try_fill_cached(row)) matcher.fill(row);
    return static_cast<std::int32_t>(count_++);
  }

  std::uint32_t* rows_;
  std::size_t words_;
  std::size_t count_ = 0;
  std::vector<Known> known_;
  std::int32_t refused_ = -1;
};

}  // namespace

DraftTree::DraftTree(std::span<const std::int64_t> tokens, std::span<const std::int64_t> parents)
    : tokens_(tokens), parents_(parents) {
  for (std::size_t i = 0; i < parents_.size(); ++i) {
    if (parents_[i] < kRoot || parents_[i] >= static_cast<std::int64_t>(i)) {
      throw Error(ErrorKind::argument, "draft_parent", static_cast<std::int64_t>(i), parents_[i]);
    }
  }
}

std::size_t DraftTree::fill(const Matcher& matcher, std::uint32_t* rows, std::size_t words, std::int32_t* index,
                            std::uint8_t* allowed) const {
  const std::size_t root = size();
  constexpr std::size_t kNone = SIZE_MAX;
  // Each node's first child, and the next child of its parent.
  std::vector<std::size_t> first_child(root + 1, kNone), next_child(root, kNone);
  for (std::size_t i = root; i-- > 0;) {
    std::size_t& first = first_child[parents_[i] == kRoot ? root : static_cast<std::size_t>(parents_[i])];
    next_child[i] = std::exchange(first, i);
  }
  SharedRows shared(rows, words);
  Matcher ahead(matcher);
  index[root] = shared.row_of(ahead);
  // Depth first: `path` are the nodes from the root to the present one. `ahead` takes no token below a refused node.
  std::vector<std::size_t> path;
  std::size_t refused_depth = 0;  // the last refused_depth nodes of the path are refused
  std::size_t node = first_child[root];
  while (true) {
    if (node == kNone) {
      if (path.empty()) break;
      node = next_child[path.back()];
      path.pop_back();
      if (refused_depth > 0) {
        --refused_depth;
      } else {
        ahead.rollback(1);
      }
      continue;
    }
    allowed[node] = refused_depth == 0 && ahead.try_advance(tokens_[node]) == Refusal::none;
    if (allowed[node]) {
      index[node] = shared.row_of(ahead);
    } else {
      index[node] = shared.row_of_refused(matcher.vocabulary());
      ++refused_depth;
    }
    path.push_back(node);
    node = first_child[node];
  }
  return shared.count();
}

std::size_t validate(const Matcher& matcher, std::span<const std::int64_t> tokens) {
  Matcher ahead(matcher);
  std::size_t count = 0;
  while (count < tokens.size() && ahead.try_advance(tokens[count]) == Refusal::none) ++count;
  return count;
}

}  // namespace detent
