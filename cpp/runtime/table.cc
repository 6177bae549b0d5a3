#include "runtime/table.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace detent {

namespace {

// The partition of token ids by what the rows so far say of them.
class Classes {
 public:
  explicit Classes(std::uint32_t ids) : of_(ids, 0), size_{ids}, parent_{0}, moved_{0} {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(size_.size()); }
  const std::vector<std::uint32_t>& of() const { return of_; }
  // The class that a class was split from; lower than itself, but for class 0.
  std::uint32_t parent(std::uint32_t part) const { return parent_[part]; }

  // Splits the classes that a row tells apart; returns where the row leads, by class.
  std::vector<std::uint32_t> refine(const std::vector<TokenMove>& moves) {
    for (const auto& [id, next] : moves) ++moved_[of_[id]];
    std::unordered_map<std::uint64_t, std::uint32_t> parts;
    std::vector<std::uint32_t> row(count(), TokenAutomaton::kRefused);
    std::vector<std::uint32_t> seen;
    std::uint64_t last_key = UINT64_MAX;
    std::uint32_t part = 0;
    for (const auto& [id, next] : moves) {
      const std::uint32_t old = of_[id];
      const std::uint64_t key = std::uint64_t{old} << 32 | next;
      if (key != last_key) {
        part = parts.try_emplace(key, UINT32_MAX).first->second;
        if (part == UINT32_MAX) part = parts[key] = name(old, next, row, seen);
        last_key = key;
      }
      if (part == old) continue;
      --size_[old];
      ++size_[part];
      of_[id] = part;
    }
    for (std::uint32_t old : seen) moved_[old] = 0;
    return row;
  }

 private:
  static constexpr std::uint32_t kSeen = UINT32_MAX;

  // Where all of a class moves, the part that is met first keeps its name. Class 0 is of the tokens that never move.
  std::uint32_t name(std::uint32_t old, std::uint32_t next, std::vector<std::uint32_t>& row,
                     std::vector<std::uint32_t>& seen) {
    if (moved_[old] != kSeen) {
      const bool all = old != 0 && moved_[old] == size_[old];
      moved_[old] = kSeen;
      seen.push_back(old);
      if (all) {
        row[old] = next;
        return old;
      }
    }
    row.push_back(next);
    parent_.push_back(old);
    size_.push_back(0);
    moved_.push_back(0);
    return count() - 1;
  }

  std::vector<std::uint32_t> of_;      // by id
  std::vector<std::uint32_t> size_;    // by class
  std::vector<std::uint32_t> parent_;  // by class
  std::vector<std::uint32_t> moved_;   // by class, within `refine` only
};

// Where a walk stands: in the language, behind a token at places of the split if the guide is canonical, and in the
// automaton that is held to as well.
struct Standing {
  ExprId state;
  std::uint32_t last = CanonicalConstraint::kNoToken;
  CanonicalConstraint::PositionSetId set = CanonicalConstraint::kTextStart;
  std::uint32_t held = 0;
  bool operator==(const Standing&) const = default;
};

struct StandingHash {
  std::size_t operator()(const Standing& at) const {
    return mix(mix(at.state.value, std::uint64_t{at.last} << 32 | at.set), at.held);
  }
};

class Walk {
 public:
  Walk(Guide& guide, const HeldTable* held) : guide_(guide), held_(held), row_(guide.vocabulary().word_count()) {
    if (!held) return;
    const Vocabulary& vocabulary = guide.vocabulary();
    ids_.resize(held->classes);
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      if (vocabulary.is_text(id)) ids_[held->token_class[id]].push_back(id);
      if (!vocabulary.is_text(id) && !vocabulary.is_eos(id)) wordless_.push_back(id);
    }
  }

  Standing start() const {
    return {guide_.start(), CanonicalConstraint::kNoToken, CanonicalConstraint::kTextStart, held_ ? held_->start : 0};
  }

  bool accepting(const Standing& at) {
    if (held_ && !held_->accepting[at.held]) return false;
    CanonicalConstraint* canonical = guide_.canonical();
    return canonical ? canonical->accepting(at.state, {at.last, at.set}) : guide_.accepting(at.state);
  }

  // Calls visit(id, where it leads) for every token but end-of-text that may follow.
  template <class Visit>
  void expand(const Standing& at, Visit visit) {
    CanonicalConstraint* canonical = guide_.canonical();
    if (canonical) canonical->fill(at.state, {at.last, at.set}, row_.data());
    const auto take = [&](std::uint32_t id, ExprId next) {
      Standing to{next};
      if (held_ && (to.held = held_->step(at.held, id)) == TokenAutomaton::kRefused) return;
      if (to.held == TokenAutomaton::kFinished && !guide_.accepting(next)) return;
      if (canonical) {
        if (!((row_[id >> 5] >> (id & 31)) & 1)) return;
        const CanonicalConstraint::Context there = canonical->step(next, {at.last, at.set}, id);
        if (there.set == CanonicalConstraint::kRefused) return;
        to.last = there.last;
        to.set = there.set;
      }
      visit(id, to);
    };
    if (!held_) return guide_.expand(at.state, take);
    std::vector<std::uint32_t> some;
    if (few(at.held, some)) {
      guide_.expand(at.state, some, take);
    } else {
      guide_.expand(at.state, take);
    }
    if (canonical) return;
    for (std::uint32_t id : wordless_) {
      const std::uint32_t next = held_->step(at.held, id);
      if (next != TokenAutomaton::kRefused) visit(id, Standing{at.state, at.last, at.set, next});
    }
  }

 private:
  static constexpr std::size_t kFew = 2048;  // as long to try one by one as a walk over a trie of 100,000 tokens takes

  // Whether the automaton allows few tokens with a text; these are then added to `ids`.
  bool few(std::uint32_t state, std::vector<std::uint32_t>& ids) const {
    std::size_t count = 0;
    const std::uint32_t* row = &held_->next[std::size_t{state} * held_->classes];
    for (std::uint32_t part = 0; part < held_->classes; ++part) {
      if (row[part] != TokenAutomaton::kRefused) count += ids_[part].size();
    }
    if (count > kFew) return false;
    for (std::uint32_t part = 0; part < held_->classes; ++part) {
      if (row[part] != TokenAutomaton::kRefused) ids.insert(ids.end(), ids_[part].begin(), ids_[part].end());
    }
    return true;
  }

  Guide& guide_;
  const HeldTable* held_;
  std::vector<std::uint32_t> row_;               // of a canonical guide
  std::vector<std::vector<std::uint32_t>> ids_;  // of each class, those with a text
  std::vector<std::uint32_t> wordless_;
};

}  // namespace

TokenAutomaton explore(Guide& guide, std::uint32_t max_states, std::int64_t max_bytes, const HeldTable* held) {
  const Vocabulary& vocabulary = guide.vocabulary();
  TokenAutomaton table;
  Classes classes(vocabulary.size());
  std::vector<std::vector<std::uint32_t>> rows(TokenAutomaton::kStart);
  std::vector<TokenMove> moves;
  const auto add_ends = [&] {
    for (std::uint32_t id : vocabulary.eos_ids()) moves.emplace_back(id, TokenAutomaton::kFinished);
  };
  add_ends();
  rows[TokenAutomaton::kFinished] = classes.refine(moves);

  Walk walk(guide, held);
  std::vector<Standing> found{walk.start()};
  std::unordered_map<Standing, std::uint32_t, StandingHash> number{{found[0], TokenAutomaton::kStart}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    moves.clear();
    walk.expand(Standing(found[i]), [&](std::uint32_t id, const Standing& next) {
      if (vocabulary.is_eos(id) && walk.accepting(next)) {  // as Matcher::advance
        moves.emplace_back(id, TokenAutomaton::kFinished);
        return;
      }
      const auto fresh = static_cast<std::uint32_t>(found.size()) + TokenAutomaton::kStart;
      const auto [entry, is_new] = number.try_emplace(next, fresh);
      if (is_new) {
        if (found.size() >= max_states) throw Error(ErrorKind::limit, "table_states", max_states, max_states);
        found.push_back(next);
      }
      moves.emplace_back(id, entry->second);
    });
    if (walk.accepting(found[i])) {
      table.accepting.push_back(static_cast<std::uint32_t>(rows.size()));
      add_ends();
    }
    rows.push_back(classes.refine(moves));
    const auto bytes =
        static_cast<std::int64_t>((found.size() + TokenAutomaton::kStart) * classes.count() * sizeof(std::uint32_t));
    if (bytes > max_bytes) throw Error(ErrorKind::limit, "table_bytes", bytes, max_bytes);
  }

  table.states = static_cast<std::uint32_t>(rows.size());
  table.classes = classes.count();
  table.token_class = classes.of();
  table.next.resize(std::size_t{table.states} * table.classes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::uint32_t* row = &table.next[i * table.classes];
    for (std::uint32_t part = 0; part < table.classes; ++part) {
      const bool known = part < rows[i].size();
      row[part] = known ? rows[i][part] : part == 0 ? TokenAutomaton::kRefused : row[classes.parent(part)];
    }
    std::vector<std::uint32_t>().swap(rows[i]);
  }
  return table;
}

std::vector<std::uint32_t> merge(const std::uint32_t* next, const std::uint32_t* labels, std::uint32_t states,
                                 std::uint32_t classes) {
  // The states of each part lie side by side in `order`, from begin[part] to end[part].
  std::vector<std::uint32_t> order(states);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t x, std::uint32_t y) { return labels[x] < labels[y]; });
  std::vector<std::uint32_t> place(states), part(states), begin, end, marked;
  for (std::uint32_t i = 0; i < states; ++i) {
    if (i == 0 || labels[order[i]] != labels[order[i - 1]]) {
      begin.push_back(i);
      end.push_back(i);
      marked.push_back(0);
    }
    place[order[i]] = i;
    part[order[i]] = static_cast<std::uint32_t>(begin.size()) - 1;
    end.back() = i + 1;
  }

  // What leads to each state but the first, as class << 32 | state. What leads to the first is what leads to no other.
  std::vector<std::size_t> first(states + std::size_t{1}, 0);
  const std::size_t size = std::size_t{states} * classes;
  for (std::size_t i = 0; i < size; ++i) {
    if (next[i] != TokenAutomaton::kRefused) ++first[next[i] + std::size_t{1}];
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::size_t> fill(first.begin(), first.end() - 1);
  std::vector<std::uint64_t> edges(first.back());
  for (std::size_t i = 0; i < size; ++i) {
    if (next[i] != TokenAutomaton::kRefused) edges[fill[next[i]]++] = std::uint64_t{i % classes} << 32 | i / classes;
  }

  std::vector<std::uint32_t> pending(begin.size()), touched;
  std::iota(pending.begin(), pending.end(), 0u);
  std::vector<std::uint64_t> into;
  while (!pending.empty()) {
    const std::uint32_t splitter = pending.back();
    pending.pop_back();
    into.clear();
    for (std::uint32_t i = begin[splitter]; i < end[splitter]; ++i) {
      for (std::size_t k = first[order[i]]; k < first[order[i] + std::size_t{1}]; ++k) into.push_back(edges[k]);
    }
    std::sort(into.begin(), into.end());
    for (std::size_t from = 0, to = 0; from < into.size(); from = to) {
      while (to < into.size() && into[to] >> 32 == into[from] >> 32) ++to;
      touched.clear();
      for (std::size_t k = from; k < to; ++k) {  // marked states move to the front of their part
        const auto source = static_cast<std::uint32_t>(into[k]);
        const std::uint32_t p = part[source];
        if (marked[p] == 0) touched.push_back(p);
        const std::uint32_t front = begin[p] + marked[p]++;
        std::swap(order[front], order[place[source]]);
        place[order[place[source]]] = place[source];
        place[source] = front;
      }
      for (std::uint32_t p : touched) {
        const std::uint32_t middle = begin[p] + marked[p];
        marked[p] = 0;
        if (middle == end[p]) continue;
        // The smaller half becomes a part of its own, and waits; the larger waits if the whole did, and need not
        // otherwise.
        const auto fresh = static_cast<std::uint32_t>(begin.size());
        const bool front_is_smaller = middle - begin[p] <= end[p] - middle;
        begin.push_back(front_is_smaller ? begin[p] : middle);
        end.push_back(front_is_smaller ? middle : end[p]);
        (front_is_smaller ? begin[p] : end[p]) = middle;
        marked.push_back(0);
        for (std::uint32_t i = begin[fresh]; i < end[fresh]; ++i) part[order[i]] = fresh;
        pending.push_back(fresh);
      }
    }
  }
  return part;
}

}  // namespace detent
