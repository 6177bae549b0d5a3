// Automata over bytes, for questions about a language.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <unordered_set>

#include "automaton/automaton.h"
#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "expr/print.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

// An automaton and the set of states that it has returned to Python (`known_`); only these are accepted as arguments.
// Functions that may search release the GIL; `known_` is accessed only with the GIL.
class CheckedAutomaton {
 public:
  CheckedAutomaton(const NodeRef& language, const Limits& limits)
      : automaton_(language, Automaton::Writable{}, 0, limits, nullptr), known_{automaton_.start().value, 0} {}

  const Automaton& automaton() const { return automaton_; }
  bool accepting(std::uint32_t state) { return automaton_.accepting(checked(state)); }

  std::vector<std::uint32_t> row(std::uint32_t state) {
    const ExprId from = checked(state);
    const ExprId* row = automaton_.row(automaton_.without_text(from));
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

  Automaton automaton_;
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
      .def_prop_ro("start", [](const CheckedAutomaton& a) { return a.automaton().start().value; })
      .def_prop_ro("class_of",
                   [](const CheckedAutomaton& a) {
                     return nb::bytes(reinterpret_cast<const char*>(a.automaton().class_of().data()), 256);
                   })
      .def("accepting", &CheckedAutomaton::accepting, "state"_a)
      .def_prop_ro("memory_bytes", &CheckedAutomaton::memory_bytes)
      .def_prop_ro("work", &CheckedAutomaton::work, "The units of work that were done so far.")
      .def("least_length", &CheckedAutomaton::least_length, "state"_a,
           "A length that no string from this state to acceptance falls short of, known without a search.")
      .def("row", &CheckedAutomaton::row, "state"_a)
      .def(
          "advance",
          [](CheckedAutomaton& a, std::uint32_t state, const nb::bytes& text) { return a.advance(state, view(text)); },
          "state"_a, "text"_a, "The state after a text; 0 if no text of the language continues it.")
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
}

}  // namespace detent
