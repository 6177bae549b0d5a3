#include "runtime/free_bytes.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/trie_walk.h"

namespace detent {
namespace {

constexpr std::size_t kMaxStates = 600;      // of all searches
constexpr std::size_t kMaxFollowed = 1'500;  // states of all searches, each counted again in every search
constexpr std::uint32_t kFewOthers = 8;      // at most one token in kFewOthers has other bytes
constexpr std::uint32_t kFewDead = 2;        // at most one trie node in kFewDead is below a byte that the start refuses
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
        death_(automaton.class_count(), Death::possible),
        bytes_of_(automaton.class_count()) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      bytes_of_[automaton.class_of()[byte]].insert(static_cast<std::uint8_t>(byte));
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
    return states_.size() > kMaxStates || followed_ > kMaxFollowed || automaton_.work() - first_work_ > max_work_ ||
           other_count_ > vocabulary_.size() / kFewOthers || dead_first_count_ > vocabulary_.trie().size() / kFewDead;
  }

  // Follows the texts over the bytes that are free so far. Returns true if it found that some byte is not free: then
  // another search is needed.
  bool search(ExprId state, ExprId larger) {
    steps_ = {{state, larger, 0, 0}};
    index_of_.clear();
    reaches_larger_ = false;
    for (std::size_t i = 0; i < steps_.size() && !is_over(); ++i) {
      ++followed_;
      states_.insert(steps_[i].state.value);
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
        if (row[c] == larger_row[c]) continue;
        if (index_of_.try_emplace(key(row[c], larger_row[c]), steps_.size()).second) {
          steps_.push_back({row[c], larger_row[c], i, c});
        }
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
    ByteSet others;
    for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
      const bool is_dead = death_[c] == Death::assumed;
      if (is_dead_at_start_[c] && !is_dead) found.dead_first = found.dead_first | bytes_of_[c];
      if (is_free_[c]) continue;
      ByteSet& set = is_dead ? found.dead : others;
      set = set | bytes_of_[c];
    }
    for (const Step& step : steps_) {
      found.completion_bound = std::max(found.completion_bound, automaton_.completion_bound(step.state));
    }
    find_ways_out(others, found);
    return found;
  }

  // Finds the other bytes that lead some state found to none of these (case 5), and the bytes before them.
  void find_ways_out(const ByteSet& others, FreeBytes& found) {
    std::vector<ByteSet> out(steps_.size()), before(steps_.size());  // by step
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const ExprId* row = automaton_.row(steps_[i].state);
      const ExprId* larger_row = automaton_.row(steps_[i].larger);
      for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) {
        if (larger_row[c] == ExprSet::kEmpty) continue;
        const auto next = index_of_.find(key(row[c], larger_row[c]));
        if (next != index_of_.end()) {
          before[next->second] = before[next->second] | bytes_of_[c];
        } else if (row[c] != larger_row[c] || !found.dead.empty()) {  // a dead byte may be live in the larger language
          out[i] = out[i] | (bytes_of_[c] & others);
        }
      }
    }
    others.each([&](std::uint8_t byte) {
      OtherByte other{byte, {}, out[0].contains(byte)};
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        if (out[i].contains(byte)) other.after = other.after | before[i];
      }
      if (other.leaves_start || !other.after.empty()) found.others.push_back(other);
    });
  }

  static std::uint64_t key(ExprId state, ExprId larger) { return std::uint64_t{state.value} << 32 | larger.value; }

  const Vocabulary& vocabulary_;
  Automaton& automaton_;
  std::int64_t max_work_;
  std::int64_t first_work_;
  std::vector<std::uint64_t> token_counts_;  // by class: tokens that contain a byte of it
  std::vector<bool> is_free_;                // by class
  std::vector<bool> is_dead_at_start_;       // by class: the start refuses the byte
  std::vector<Death> death_;                 // by class
  std::vector<ByteSet> bytes_of_;            // by class
  bool reaches_larger_ = false;              // some text leads both languages to one state
  std::uint64_t other_count_ = 0;            // at least the tokens that contain a byte that is not free
  std::uint64_t dead_first_count_ = 0;       // trie nodes of the tokens that begin with a byte that the start refuses
  std::size_t followed_ = 0;
  std::unordered_set<std::uint32_t> states_;  // followed by some search: only these may need a new row
  std::vector<Step> steps_;
  // By state and larger state. Without the start: a byte that is dead there may be live when it is reached again.
  std::unordered_map<std::uint64_t, std::size_t> index_of_;
};

}  // namespace

bool OtherByte::may_leave(std::string_view token) const {
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (static_cast<std::uint8_t>(token[i]) != byte) continue;
    if (i == 0 ? leaves_start : after.contains(static_cast<std::uint8_t>(token[i - 1]))) return true;
  }
  return false;
}

std::optional<FreeBytes> find_free_bytes(const Vocabulary& vocabulary, Automaton& automaton, ExprId state,
                                         ExprId larger, std::int64_t max_work) {
  return FreeByteSearch(vocabulary, automaton, max_work).find(state, larger);
}

}  // namespace detent
