#include "automaton/conjunct_search.h"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "automaton/alternatives.h"
#include "automaton/conjuncts.h"

namespace detent {
namespace {

constexpr std::size_t kMaxExpanded = 256;
constexpr std::size_t kMaxStarts = 64;

using ConjunctSet = std::vector<ExprId>;  // ascending

struct HashSet {
  std::size_t operator()(const ConjunctSet& set) const {
    std::uint64_t hash = set.size();
    for (ExprId id : set) hash = (hash ^ id.value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
  }
};

class Search {
 public:
  Search(ExprSet& exprs, Derivatives& derivatives, Meter& meter)
      : exprs_(exprs), derivatives_(derivatives), meter_(meter) {}

  void start(ExprId state) {
    if (state == ExprSet::kEmpty) return;
    ConjunctSet set = split(state);
    normalise(set);
    add(std::move(set), kNone, 0);
  }

  std::optional<std::string> run() {
    const std::uint32_t classes = derivatives_.class_count();
    ConjunctSet after;
    for (std::size_t expanded = 0; !pending_.empty() && expanded < kMaxExpanded; ++expanded) {
      const std::size_t at = std::get<1>(pending_.top());
      pending_.pop();
      meter_.step(std::ssize(nodes_[at].set));
      for (std::uint32_t byte_class = 0; byte_class < classes; ++byte_class) {
        if (!follow(nodes_[at].set, byte_class, after) || seen_.contains(after)) continue;
        if (add(after, at, byte_class)) return text_of(nodes_.size() - 1);
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  struct Node {
    ConjunctSet set;
    std::size_t parent;
    std::uint32_t byte_class;
  };
  using Entry = std::tuple<std::uint64_t, std::size_t>;  // distance, node: the later one of equal ones first
  struct IsFarther {
    bool operator()(const Entry& one, const Entry& other) const {
      return std::get<0>(one) != std::get<0>(other) ? std::get<0>(one) > std::get<0>(other)
                                                    : std::get<1>(one) < std::get<1>(other);
    }
  };

  const ConjunctSet& split(ExprId state) {
    const auto [known, is_new] = splits_.try_emplace(state.value);
    if (is_new) {
      known->second = conjuncts_of(exprs_, state);
      meter_.step(std::ssize(known->second));
    }
    return known->second;
  }

  static void normalise(ConjunctSet& set) {
    std::ranges::sort(set);
    set.erase(std::ranges::unique(set).begin(), set.end());
  }

  // Whether no conjunct is empty after the class.
  bool follow(const ConjunctSet& set, std::uint32_t byte_class, ConjunctSet& after) {
    after.clear();
    for (ExprId each : set) {
      const ExprId next = derivatives_.row(each)[byte_class];
      if (next == ExprSet::kEmpty) return false;
      const ConjunctSet& parts = split(next);
      after.insert(after.end(), parts.begin(), parts.end());
    }
    normalise(after);
    return true;
  }

  // Returns whether the empty text is in all conjuncts.
  bool add(ConjunctSet set, std::size_t parent, std::uint32_t byte_class) {
    std::uint64_t distance = 0;
    for (ExprId each : set) distance += exprs_[each].min_length;
    const bool is_end = std::ranges::all_of(set, [this](ExprId each) { return exprs_[each].nullable; });
    seen_.insert(set);
    pending_.emplace(distance, nodes_.size());
    nodes_.push_back({std::move(set), parent, byte_class});
    return is_end;
  }

  std::string text_of(std::size_t node) const {
    std::string text;
    for (; nodes_[node].parent != kNone; node = nodes_[node].parent) {
      text += static_cast<char>(derivatives_.representative(nodes_[node].byte_class));
    }
    std::ranges::reverse(text);
    return text;
  }

  ExprSet& exprs_;
  Derivatives& derivatives_;
  Meter& meter_;
  std::vector<Node> nodes_;
  std::unordered_set<ConjunctSet, HashSet> seen_;
  std::unordered_map<std::uint32_t, ConjunctSet> splits_;  // by expression
  std::priority_queue<Entry, std::vector<Entry>, IsFarther> pending_;
};

}  // namespace

std::optional<std::string> find_text_by_conjuncts(ExprSet& exprs, Derivatives& derivatives, Meter& meter,
                                                  ExprId state) {
  Search search(exprs, derivatives, meter);
  std::vector<ExprId> alternatives = distribute_unions(exprs, state);
  if (alternatives.size() > kMaxStarts) alternatives = {state};
  for (ExprId each : alternatives) search.start(each);
  return search.run();
}

}  // namespace detent
