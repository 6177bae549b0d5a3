// Automata over bytes, for questions about a language.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <unordered_set>

#include "automaton/automaton.h"
#include "automaton/language_set.h"
#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "expr/print.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

// An automaton and the set of states that it has returned to Python (`known_`); only these are accepted as arguments.
// Functions that may search release the GIL; `known_` is accessed only with the GIL. Several languages may share the
// automaton, each with its own start (LanguageSet).
class CheckedAutomaton {
 public:
  CheckedAutomaton(const NodeRef& language, const Limits& limits)
      : owner_(std::make_shared<Automaton>(language, Automaton::Writable{}, 0, limits, nullptr)),
        start_(automaton_.start()),
        known_{start_.value, 0} {}
  CheckedAutomaton(std::shared_ptr<Automaton> automaton, ExprId start)
      : owner_(std::move(automaton)), start_(start), known_{start_.value, 0} {}

  const Automaton& automaton() const { return automaton_; }
  ExprId start() const { return start_; }
  bool accepting(std::uint32_t state) { return automaton_.accepting(checked(state)); }

  std::vector<std::uint32_t> row(std::uint32_t state, std::int64_t steps) {
    const ExprId from = checked(state);
    const ExprId* row = automaton_.row(automaton_.without_text(from), steps);
    std::vector<std::uint32_t> next(automaton_.class_count());
    for (unsigned byte = 256; byte-- > 0;) {
      const std::uint8_t c = automaton_.class_of()[byte];
      const char text = static_cast<char>(byte);
      const bool needs_text = automaton_.has_lists() && row[c] != ExprSet::kEmpty;
      next[c] = (needs_text ? automaton_.advance(from, {&text, 1}) : row[c]).value;
    }
    known_.insert(next.begin(), next.end());
    return next;
  }

  std::uint32_t advance(std::uint32_t state, std::string_view text) {
    const ExprId next = automaton_.advance(checked(state), text);
    known_.insert(next.value);
    return next.value;
  }

  // Whether a text is in the language. Where its states fill half of the limits, a new automaton goes on from the last.
  bool accepts(std::string_view text) {
    constexpr std::size_t kPiece = 256;  // bytes
    ExprId state = start_;
    Automaton* automaton = &automaton_;
    std::unique_ptr<Automaton> last;
    for (std::size_t at = 0; at < text.size(); at += kPiece) {
      if (automaton->is_full()) {
        auto next = std::make_unique<Automaton>(*automaton);
        next->adopt(*automaton, {&state, 1});
        last = std::move(next);
        automaton = last.get();
      }
      state = automaton->advance(state, text.substr(at, kPiece));
    }
    return automaton->accepting(state);
  }

  // The states that some text leads to from one of `states`, these included; nothing where there are more than `most`.
  std::optional<std::vector<std::uint32_t>> reachable(const std::vector<std::uint32_t>& states, std::size_t most) {
    std::vector<std::uint32_t> found;
    std::unordered_set<std::uint32_t> seen{0};
    const auto visit = [&](ExprId state) {
      if (seen.insert(state.value).second) found.push_back(state.value);
    };
    for (std::uint32_t state : states) visit(checked(state));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found.size() > most) return std::nullopt;
      const ExprId* row = automaton_.row(ExprId{found[i]});
      for (std::uint32_t c = 0; c < automaton_.class_count(); ++c) visit(row[c]);
    }
    known_.insert(found.begin(), found.end());
    return found;
  }

  // The bytes that lead from each of `states` to acceptance, and the others that some of the states goes on with.
  std::pair<ByteSet, ByteSet> bytes_after(const std::vector<std::uint32_t>& states) {
    ByteSet ends = states.empty() ? ByteSet{} : ByteSet::all(), others;
    for (std::uint32_t state : states) {
      const ExprId* row = automaton_.row(checked(state));
      for (unsigned byte = 0; byte < 256; ++byte) {
        const ExprId next = row[automaton_.class_of()[byte]];
        if (!automaton_.accepting(next)) ends.remove(static_cast<std::uint8_t>(byte));
        if (next != ExprSet::kEmpty) others.insert(static_cast<std::uint8_t>(byte));
      }
    }
    ends.each([&](std::uint8_t byte) { others.remove(byte); });
    return {ends, others};
  }

  Hash128 hash(std::uint32_t state) const { return automaton_.hash(checked(state)); }

  std::int64_t work() const { return automaton_.work(); }
  std::int64_t memory_bytes() { return automaton_.memory_bytes(); }

  std::string shortest_completion(std::uint32_t state) {
    if (checked(state) == ExprSet::kEmpty) throw Error(ErrorKind::empty, "language");
    const WithoutGil release;
    return automaton_.shortest_completion(ExprId{state});
  }

  std::string some_completion(std::uint32_t state) {
    if (checked(state) == ExprSet::kEmpty) throw Error(ErrorKind::empty, "language");
    const WithoutGil release;
    return automaton_.some_completion(ExprId{state}).value();
  }

  std::optional<std::tuple<unsigned, std::uint32_t, std::uint32_t>> completion_step(std::uint32_t state) {
    if (checked(state) == ExprSet::kEmpty) throw Error(ErrorKind::empty, "language");
    if (automaton_.accepting(ExprId{state})) return std::nullopt;
    const CompletionPaths::Step step = automaton_.completion_step(ExprId{state});
    known_.insert(step.state.value);
    return std::tuple(step.byte, step.state.value, step.length);
  }

  std::uint32_t completion_bound(std::uint32_t state) {
    const ExprId from = checked(state);
    const WithoutGil release;
    return automaton_.completion_bound(from);
  }

  std::uint32_t least_length(std::uint32_t state) const {
    return automaton_.least_length(automaton_.without_text(checked(state)));
  }

  std::string state_text(std::uint32_t state, std::size_t max_bytes) {
    checked(state);
    return automaton_.edit(
        [&](ExprSet& exprs, Derivatives&, Liveness&) { return print_expr(exprs, ExprId{state}, max_bytes); });
  }

 private:
  ExprId checked(std::uint32_t state) const {
    if (!known_.contains(state)) throw Error(ErrorKind::argument, "automaton_state", state);
    return ExprId{state};
  }

  std::shared_ptr<Automaton> owner_;
  Automaton& automaton_ = *owner_;
  ExprId start_;
  std::unordered_set<std::uint32_t> known_;
};

}  // namespace

void bind_automaton(nb::module_& m) {
  nb::class_<CheckedAutomaton>(m, "Automaton", "A language as a lazily built automaton over bytes; state 0 is dead.")
      .def(
          "__init__",
          [](CheckedAutomaton* automaton, const NodeRef& language, std::int64_t states, std::int64_t memory_bytes,
             std::int64_t steps) {
            const WithoutGil release;
            new (automaton) CheckedAutomaton(language, Limits{states, memory_bytes, steps});
          },
          "language"_a, "states"_a, "memory_bytes"_a, "steps"_a)
      .def_prop_ro("start", [](const CheckedAutomaton& a) { return a.start().value; })
      .def_prop_ro("class_of",
                   [](const CheckedAutomaton& a) {
                     return nb::bytes(reinterpret_cast<const char*>(a.automaton().class_of().data()), 256);
                   })
      .def("accepting", &CheckedAutomaton::accepting, "state"_a)
      .def_prop_ro("memory_bytes", &CheckedAutomaton::memory_bytes)
      .def_prop_ro("work", &CheckedAutomaton::work, "The units of work that were done so far.")
      .def("least_length", &CheckedAutomaton::least_length, "state"_a,
           "A length that no string from this state to acceptance falls short of, known without a search.")
      .def("row", &CheckedAutomaton::row, "state"_a, "steps"_a = INT64_MAX)
      .def("reachable", &CheckedAutomaton::reachable, "origins"_a, "most"_a,
           "The live states that texts lead to from some states, these included; None where they are more than `most`.")
      .def(
          "bytes_after",
          [](CheckedAutomaton& a, const std::vector<std::uint32_t>& states) {
            const auto [ends, goes_on] = a.bytes_after(states);
            return std::tuple(to_bytes(ends), to_bytes(goes_on));
          },
          "origins"_a,
          "The bytes that lead from each of the states to acceptance, and the others that some of them goes on with.")
      .def(
          "hash",
          [](const CheckedAutomaton& a, std::uint32_t state) {
            const Hash128 hash = a.hash(state);
            return std::tuple(hash.high, hash.low);
          },
          "state"_a, "A hash of the expression of a state: where it is the same, the language is.")
      .def(
          "advance",
          [](CheckedAutomaton& a, std::uint32_t state, const nb::bytes& text) { return a.advance(state, view(text)); },
          "state"_a, "text"_a, "The state after a text; 0 if no text of the language continues it.")
      .def(
          "accepts", [](CheckedAutomaton& a, const nb::bytes& text) { return a.accepts(view(text)); }, "text"_a,
          "Whether a text is in the language, in bounded memory.")
      .def(
          "shortest_completion",
          [](CheckedAutomaton& a, std::uint32_t state) { return to_bytes(a.shortest_completion(state)); }, "state"_a)
      .def(
          "some_completion",
          [](CheckedAutomaton& a, std::uint32_t state) { return to_bytes(a.some_completion(state)); }, "state"_a,
          "A string that leads from a live state to acceptance, found without a search.")
      .def("completion_bound", &CheckedAutomaton::completion_bound, "state"_a,
           "The length of some string that leads from a live state to acceptance.")
      .def("completion_step", &CheckedAutomaton::completion_step, "state"_a,
           "The first byte of some completion of a live state, the state after it, and the length; None if it accepts.")
      .def("state_text", &CheckedAutomaton::state_text, "state"_a, "max_bytes"_a = 200,
           "The expression of a state, in the textual form of cpp/expr/print.h.");
  nb::class_<LanguageSet>(m, "LanguageSet", "The automata of many languages, which compile what they share once.")
      .def(
          "__init__",
          [](LanguageSet* set, const std::vector<NodeRef>& nodes, std::int64_t states, std::int64_t memory_bytes,
             std::int64_t steps) { new (set) LanguageSet(nodes, Limits{states, memory_bytes, steps}); },
          "nodes"_a, "states"_a, "memory_bytes"_a, "steps"_a)
      .def_prop_ro("state_count", [](LanguageSet& set) { return set.automaton().state_count(); })
      .def(
          "automaton",
          [](const std::shared_ptr<LanguageSet>& set, const NodeRef& language) {
            std::optional<CheckedAutomaton> found;
            if (const auto start = set->start(language)) {
              found.emplace(std::shared_ptr<Automaton>(set, &set->automaton()), *start);
            }
            return found;
          },
          "language"_a, "The automaton of a language; None where its bytes divide a byte class of the set's nodes.");
}

}  // namespace detent
