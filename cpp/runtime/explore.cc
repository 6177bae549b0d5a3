#include "runtime/explore.h"

#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/hash.h"

namespace detent {

namespace {

using Transition = std::pair<std::uint32_t, std::uint32_t>;  // a token id, and the number of the state it leads to

// Partitions the token ids into classes with equal columns, by refinement row by row. A row splits each class whose
// tokens it leads to different states. In older rows, the new class has the transition of its parent, the class split.
class TokenClasses {
 public:
  explicit TokenClasses(std::uint32_t ids) : of_(ids, 0), size_{ids}, parent_{0}, moved_{0} {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(size_.size()); }
  const std::vector<std::uint32_t>& of() const { return of_; }
  // The class that a class was split from; lower than itself, but for class 0.
  std::uint32_t parent(std::uint32_t part) const { return parent_[part]; }

  // Splits the classes that a row separates. Returns the row by class.
  std::vector<std::uint32_t> refine(const std::vector<Transition>& transitions) {
    for (const auto& [id, next] : transitions) ++moved_[of_[id]];
    std::unordered_map<std::uint64_t, std::uint32_t> parts;
    std::vector<std::uint32_t> row(count(), TokenDfa::kRefused);
    std::vector<std::uint32_t> seen;
    std::uint64_t last_key = UINT64_MAX;
    std::uint32_t part = 0;
    for (const auto& [id, next] : transitions) {
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

  // Names a part of the class `old`: the tokens that lead to `next`. Where the row has a transition for each token of
  // the class, the first part keeps the name `old`. Class 0 keeps the tokens without any transition.
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

// A state of the machine, and one of the token DFA (or 0 without one).
struct ProductState {
  TokenState machine;
  std::uint32_t dfa = 0;
  bool operator==(const ProductState&) const = default;
};

struct ProductStateHash {
  std::size_t operator()(const ProductState& at) const {
    const std::uint64_t part = std::uint64_t{at.machine.part} << 32 | at.machine.part_tokens;
    const std::uint64_t context = std::uint64_t{at.machine.last_token} << 32 | at.machine.positions;
    return mix(mix(mix(at.machine.language, context), part), at.dfa);
  }
};

class ProductExplorer {
 public:
  ProductExplorer(TokenMachine& machine, const TokenDfa* dfa, std::uint32_t dfa_start)
      : machine_(machine), dfa_(dfa), dfa_start_(dfa_start) {
    if (!dfa) return;
    const Vocabulary& vocabulary = machine.vocabulary();
    texts_.resize(dfa->classes());
    for (std::uint32_t id = 0; id < vocabulary.size(); ++id) {
      if (vocabulary.is_text(id)) texts_[dfa->token_class(id)].push_back(id);
      if (!vocabulary.is_text(id) && !vocabulary.is_eos(id)) wordless_.push_back(id);
    }
  }

  ProductState start() { return {machine_.start({}), dfa_ ? dfa_start_ : 0}; }
  bool accepting(const ProductState& at) {
    return (!dfa_ || dfa_->accepting(at.dfa)) && machine_.accepting(at.machine);
  }

  // Calls visit(id, state after it) for every token that may follow, but for eos ids without text.
  template <class Visit>
  void expand(const ProductState& at, Visit visit) {
    const auto take = [&](std::uint32_t id, const TokenState& next) {
      const std::uint32_t dfa_next = dfa_ ? dfa_->step(at.dfa, id) : 0;
      if (dfa_ && dfa_next == TokenDfa::kRefused) return;
      if (dfa_ && (dfa_next == TokenDfa::kFinished) != next.is_finished()) return;
      visit(id, ProductState{next, dfa_next});
    };
    if (!dfa_) return machine_.expand(at.machine, take);
    std::vector<std::uint32_t> tokens;
    if (has_few_tokens(at.dfa, tokens)) {
      machine_.expand(at.machine, tokens, take);
    } else {
      machine_.expand(at.machine, take);
    }
    if (!machine_.ignores_wordless()) return;
    for (std::uint32_t id : wordless_) {
      const std::uint32_t next = dfa_->step(at.dfa, id);
      if (next != TokenDfa::kRefused) visit(id, ProductState{at.machine, next});
    }
  }

 private:
  // As many steps by single tokens take as long as a walk over a trie of 100,000 tokens.
  static constexpr std::size_t kFew = 2048;

  // Whether the DFA allows few tokens with a text; these are then added to `ids`.
  bool has_few_tokens(std::uint32_t state, std::vector<std::uint32_t>& ids) const {
    std::size_t count = 0;
    const std::span<const std::uint32_t> transitions = dfa_->transitions(state);
    for (std::size_t part = 0; part < transitions.size(); ++part) {
      if (transitions[part] != TokenDfa::kRefused) count += texts_[part].size();
    }
    if (count > kFew) return false;
    for (std::size_t part = 0; part < transitions.size(); ++part) {
      if (transitions[part] != TokenDfa::kRefused) ids.insert(ids.end(), texts_[part].begin(), texts_[part].end());
    }
    return true;
  }

  TokenMachine& machine_;
  const TokenDfa* dfa_;
  std::uint32_t dfa_start_;
  std::vector<std::vector<std::uint32_t>> texts_;  // the tokens with a text, by class of the DFA
  std::vector<std::uint32_t> wordless_;
};

// Extends each row to the final classes. A row was made when there were fewer: later classes take their parent's value.
ExploredDfa lay_out(std::vector<std::vector<std::uint32_t>> rows, const TokenClasses& classes) {
  ExploredDfa dfa;
  dfa.states = static_cast<std::uint32_t>(rows.size());
  dfa.classes = classes.count();
  dfa.token_class = classes.of();
  dfa.next.resize(std::size_t{dfa.states} * dfa.classes);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::uint32_t* row = &dfa.next[i * dfa.classes];
    for (std::uint32_t part = 0; part < dfa.classes; ++part) {
      const bool known = part < rows[i].size();
      row[part] = known ? rows[i][part] : part == 0 ? TokenDfa::kRefused : row[classes.parent(part)];
    }
    std::vector<std::uint32_t>().swap(rows[i]);
  }
  return dfa;
}

}  // namespace

ExploredDfa explore(TokenMachine& machine, std::uint32_t max_states, std::int64_t max_bytes, const TokenDfa* dfa,
                    std::uint32_t dfa_start) {
  const Vocabulary& vocabulary = machine.vocabulary();
  if (dfa && dfa->tokens() != vocabulary.size()) throw Error(ErrorKind::argument, "token_dfa");
  if (dfa && dfa_start >= dfa->states()) throw Error(ErrorKind::argument, "token_dfa_state", dfa_start, dfa->states());
  TokenClasses classes(vocabulary.size());
  std::vector<std::vector<std::uint32_t>> rows(TokenDfa::kStart);
  std::vector<std::uint32_t> accepting;
  std::vector<Transition> transitions;
  const auto add_eos = [&] {
    for (std::uint32_t id : vocabulary.eos_ids()) transitions.emplace_back(id, TokenDfa::kFinished);
  };
  add_eos();
  rows[TokenDfa::kFinished] = classes.refine(transitions);

  ProductExplorer explorer(machine, dfa, dfa_start);
  std::vector<ProductState> found{explorer.start()};
  std::unordered_map<ProductState, std::uint32_t, ProductStateHash> number{{found[0], TokenDfa::kStart}};
  const auto number_of = [&](const ProductState& state) {
    if (state.machine.is_finished()) return TokenDfa::kFinished;
    const auto [entry, is_new] = number.try_emplace(state, static_cast<std::uint32_t>(found.size()) + TokenDfa::kStart);
    if (is_new) {
      if (found.size() >= max_states) throw Error(ErrorKind::limit, "table_states", max_states, max_states);
      found.push_back(state);
    }
    return entry->second;
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    transitions.clear();
    const ProductState at = found[i];
    explorer.expand(at,
                    [&](std::uint32_t id, const ProductState& next) { transitions.emplace_back(id, number_of(next)); });
    if (explorer.accepting(at)) {
      accepting.push_back(static_cast<std::uint32_t>(rows.size()));
      add_eos();
    }
    rows.push_back(classes.refine(transitions));
    const auto bytes =
        static_cast<std::int64_t>((found.size() + TokenDfa::kStart) * classes.count() * sizeof(std::uint32_t));
    if (bytes > max_bytes) throw Error(ErrorKind::limit, "table_bytes", bytes, max_bytes);
  }
  ExploredDfa explored = lay_out(std::move(rows), classes);
  explored.accepting = std::move(accepting);
  return explored;
}

}  // namespace detent
