#include "runtime/free_bytes.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::size_t kMaxStates = 600;  // followed, in all searches
constexpr std::uint32_t kFewOthers = 8;  // at most one token in kFewOthers has other bytes, or begins with a dead one
constexpr std::uint64_t kMany = UINT32_MAX;

// Searches the states after texts over classes of bytes. Lives for one call.
class FreeByteSearch {
 public:
  FreeByteSearch(const Vocabulary& vocabulary, Automaton& automaton, std::int64_t max_work)
      : vocabulary_(vocabulary),
        automaton_(automaton),
        max_work_(max_work),
        first_work_(automaton.work()),
        token_counts_(automaton.class_count()),
        is_free_(automaton.class_count(), true),
        is_dead_at_start_(automaton.class_count(), false),
        death_(automaton.class_count(), Death::possible) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto tokens = vocabulary.tokens_with(static_cast<std::uint8_t>(byte));
      token_counts_[automaton.class_of()[byte]] += tokens ? tokens->size() : kMany;
    }
    for (char byte : {'"', '\\'}) {
      const std::uint8_t byte_class = automaton.class_of()[static_cast<std::uint8_t>(byte)];
      is_free_[byte_class] = false;
      other_count_ += token_counts_[byte_class];
    }
  }

  std::optional<FreeBytes> find(ExprId state, ExprId larger) {
    while (search(state, larger) || has_false_death()) {
    }
    return is_over() ? std::nullopt : std::optional(found());
  }

 private:
  struct Step {
    ExprId state, larger;
    std::size_t from;
    std::uint32_t byte_class;
  };

  // Whether a byte leads each state found to a dead one.
  enum class Death : std::uint8_t { possible, assumed, refuted };

  bool is_over() const {
    return state_count_ > kMaxStates || automaton_.work() - first_work_ > max_work_ ||
           other_count_ > vocabulary_.size() / kFewOthers || dead_first_count_ > vocabulary_.trie().size() / kFewOthers;
  }

  // Follows the texts over the bytes that are free so far. Returns true if it found that some byte is not free: then
  // another search is needed.
  bool search(ExprId state, ExprId larger) {
    steps_ = {{state, larger, 0, 0}};
    reaches_larger_ = false;
    const auto key = [](ExprId x, ExprId y) { return std::uint64_t{x.value} << 32 | y.value; };
    // Without the start: a byte that is dead there may be live when the same state is reached again.
    std::unordered_set<std::uint64_t> seen;
    for (std::size_t i = 0; i < steps_.size() && !is_over(); ++i) {
      ++state_count_;
      const ExprId* row = automaton_.row(steps_[i].state);
      const ExprId* larger_row = automaton_.row(steps_[i].larger);
      for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
        if (!is_free_[c] || larger_row[c] == ExprSet::kEmpty) continue;
        if (row[c] == ExprSet::kEmpty && i == 0) {
          refuse_at_start(c);
          continue;
        }
        if (row[c] == ExprSet::kEmpty && is_dead_at_start_[c] && death_[c] == Death::possible) {
          assume_death(c);
          continue;
        }
        if (row[c] == ExprSet::kEmpty) {
          remove_rarest(i, c);
          return !is_over();
        }
        reaches_larger_ |= row[c] == larger_row[c];
        if (row[c] == larger_row[c] || !seen.insert(key(row[c], larger_row[c])).second) continue;
        steps_.push_back({row[c], larger_row[c], i, c});
      }
    }
    return false;
  }

  // A byte that only the start refuses may be free.
  void refuse_at_start(std::uint32_t byte_class) {
    if (is_dead_at_start_[byte_class]) return;
    is_dead_at_start_[byte_class] = true;
    for (unsigned byte = 0; byte < 256; ++byte) {
      if (automaton_.class_of()[byte] == byte_class) {
        dead_first_count_ += vocabulary_.nodes_below(static_cast<std::uint8_t>(byte));
      }
    }
  }

  // Assumes that a byte which is dead at the start and in a later state is dead everywhere (case 4). It is an ASCII
  // byte or a lead byte, since `larger` allows it at the start.
  void assume_death(std::uint32_t byte_class) {
    death_[byte_class] = Death::assumed;
    is_free_[byte_class] = false;
  }

  // Whether some byte was wrongly assumed to be dead: then another search is needed.
  bool has_false_death() {
    if (is_over()) return false;
    bool found = false;
    for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
      if (death_[c] != Death::assumed) continue;
      const auto survives = [&](const Step& step) {
        return automaton_.row(step.larger)[c] != ExprSet::kEmpty && automaton_.row(step.state)[c] != ExprSet::kEmpty;
      };
      if (!reaches_larger_ && std::ranges::none_of(steps_, survives)) continue;
      death_[c] = Death::refuted;
      is_free_[c] = true;
      found = true;
    }
    return found;
  }

  // Makes one byte of the path to a dead state not free: the one that the fewest tokens contain.
  void remove_rarest(std::size_t at, std::uint32_t last) {
    std::uint32_t rarest = last;
    for (; at != 0; at = steps_[at].from) {
      if (token_counts_[steps_[at].byte_class] < token_counts_[rarest]) rarest = steps_[at].byte_class;
    }
    is_free_[rarest] = false;
    other_count_ += token_counts_[rarest];
  }

  FreeBytes found() {
    FreeBytes found;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::uint8_t byte_class = automaton_.class_of()[byte];
      if (is_dead_at_start_[byte_class]) found.dead_first.insert(static_cast<std::uint8_t>(byte));
      if (is_free_[byte_class]) continue;
      ByteSet& set = death_[byte_class] == Death::assumed ? found.dead : found.others;
      set.insert(static_cast<std::uint8_t>(byte));
    }
    for (const Step& step : steps_) {
      found.completion_bound = std::max(found.completion_bound, automaton_.completion_bound(step.state));
    }
    return found;
  }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  std::int64_t max_work_;
  std::int64_t first_work_;
  std::vector<std::uint64_t> token_counts_;  // by class: tokens that contain a byte of it
  std::vector<bool> is_free_;                // by class
  std::vector<bool> is_dead_at_start_;       // by class: the start refuses the byte
  std::vector<Death> death_;                 // by class
  bool reaches_larger_ = false;              // some text leads both languages to one state
  std::uint64_t other_count_ = 0;            // at least the tokens that contain a byte that is not free
  std::uint64_t dead_first_count_ = 0;       // trie nodes of the tokens that begin with a byte that the start refuses
  std::size_t state_count_ = 0;
  std::vector<Step> steps_;
};

}  // namespace

std::optional<FreeBytes> find_free_bytes(const Vocabulary& vocabulary, Automaton& automaton, ExprId state,
                                         ExprId larger, std::int64_t max_work) {
  return FreeByteSearch(vocabulary, automaton, max_work).find(state, larger);
}

}  // namespace detent
