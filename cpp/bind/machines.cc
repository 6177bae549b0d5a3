// Token machines: languages, canonical languages and token DFAs over a vocabulary.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "runtime/canonical_machine.h"
#include "runtime/explore.h"
#include "runtime/language_machine.h"
#include "runtime/machine_slot.h"
#include "runtime/matcher.h"
#include "runtime/minimize.h"
#include "runtime/part_budget_machine.h"
#include "runtime/token_dfa.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

// Python holds a machine's slot, not the machine: after an eviction, the slot has another machine.
struct LanguageSlot final : MachineSlot {
  using MachineSlot::MachineSlot;
  std::shared_ptr<LanguageMachine> language() { return std::static_pointer_cast<LanguageMachine>(machine()); }
};
struct CanonicalSlot final : MachineSlot {
  using MachineSlot::MachineSlot;
};
struct PartBudgetSlot final : MachineSlot {
  using MachineSlot::MachineSlot;
};
struct TokenDfaSlot final : MachineSlot {
  using MachineSlot::MachineSlot;
};

std::shared_ptr<LanguageSlot> make_language_machine(const NodeRef& language,
                                                    std::shared_ptr<const Vocabulary> vocabulary, std::int64_t states,
                                                    std::int64_t memory_bytes, std::int64_t steps,
                                                    std::shared_ptr<CancelFlag> cancel) {
  const WithoutGil release;
  auto machine = std::make_shared<LanguageMachine>(language, std::move(vocabulary),
                                                   Limits{states, memory_bytes, steps, true}, std::move(cancel));
  machine->compute_first_mask();
  return std::make_shared<LanguageSlot>(std::move(machine));
}

std::shared_ptr<CanonicalSlot> make_canonical_machine(const NodeRef& language,
                                                      std::shared_ptr<const Vocabulary> vocabulary,
                                                      std::shared_ptr<PretokenTransitions> transitions,
                                                      std::int64_t states, std::int64_t memory_bytes,
                                                      std::int64_t steps, std::shared_ptr<CancelFlag> cancel,
                                                      const std::optional<NodeRef>& part, std::uint32_t part_tokens) {
  const WithoutGil release;
  std::optional<CanonicalMachine::Part> budgeted;
  if (part) budgeted = CanonicalMachine::Part{*part, part_tokens};
  return std::make_shared<CanonicalSlot>(
      std::make_shared<CanonicalMachine>(language, std::move(vocabulary), std::move(transitions), budgeted,
                                         Limits{states, memory_bytes, steps, true}, std::move(cancel)));
}

std::shared_ptr<PartBudgetSlot> make_part_budget_machine(const std::shared_ptr<LanguageSlot>& whole,
                                                         const NodeRef& part, std::uint32_t tokens, std::int64_t states,
                                                         std::int64_t memory_bytes, std::int64_t steps,
                                                         std::shared_ptr<CancelFlag> cancel) {
  const WithoutGil release;
  return std::make_shared<PartBudgetSlot>(std::make_shared<PartBudgetMachine>(
      whole->language(), part, tokens, Limits{states, memory_bytes, steps, true}, std::move(cancel)));
}

std::shared_ptr<TokenDfa> make_token_dfa(nb::handle next, nb::handle token_class, nb::handle masks,
                                         nb::handle mask_index, nb::handle distance) {
  std::vector<std::shared_ptr<const ArrayBuffer>> arrays;
  for (nb::handle array : {next, token_class, masks, mask_index, distance}) {
    arrays.push_back(shared_array(array, kInt32, sizeof(std::int32_t)));
    if (!arrays.back()->is_readonly()) throw nb::type_error("expected arrays that cannot be written to");
  }
  TokenDfa::Arrays spans;
  spans.next = arrays[0]->span<std::uint32_t>();
  spans.token_class = arrays[1]->span<std::uint32_t>();
  spans.masks = arrays[2]->span<std::uint32_t>();
  spans.mask_index = arrays[3]->span<std::uint32_t>();
  spans.distance = arrays[4]->span<std::int32_t>();
  spans.owner = std::make_shared<std::vector<std::shared_ptr<const ArrayBuffer>>>(std::move(arrays));
  return std::make_shared<TokenDfa>(std::move(spans));
}

// (token classes, next states by state and class, accepting states)
nb::tuple explore_machine(MachineSlot& slot, std::uint32_t max_states, std::int64_t max_bytes, const TokenDfa* dfa,
                          std::uint32_t dfa_start) {
  const ExploredDfa found = [&] {
    const WithoutGil release;
    return explore(*slot.machine(), max_states, max_bytes, dfa, dfa_start);
  }();
  return nb::make_tuple(to_bytes(found.token_class), to_bytes(found.next), to_bytes(found.accepting));
}

nb::bytes merge(const nb::bytes& next, const nb::bytes& labels, std::uint32_t classes) {
  const std::vector<std::uint32_t> entries = numbers(next), marks = numbers(labels);
  const std::vector<std::uint32_t> parts = [&] {
    const WithoutGil release;
    return merge_states(entries, marks, classes);
  }();
  return to_bytes(parts);
}

}  // namespace

void bind_machines(nb::module_& m) {
  nb::class_<TokenDfa>(m, "TokenDfa", "The arrays of a token DFA, checked; they must not be written to.")
      .def(nb::new_(&make_token_dfa), "next"_a, "token_class"_a, "masks"_a, "mask_index"_a, "distance"_a);

  nb::class_<MachineSlot>(m, "TokenMachine", "A constraint on sequences of tokens.")
      .def(
          "completes_within",
          [](MachineSlot& slot, std::uint32_t tokens, const std::vector<std::uint32_t>& prompt_tokens) {
            return Matcher::fits(*slot.machine(), tokens, prompt_tokens);
          },
          "tokens"_a, "prompt_tokens"_a = std::vector<std::uint32_t>{}, nb::call_guard<WithoutGil>(),
          "Whether a text of at most so many tokens is known.")
      .def("explore", &explore_machine, "max_states"_a, "max_bytes"_a, "dfa"_a.none() = nb::none(),
           "dfa_start"_a = TokenDfa::kStart,
           nb::sig("def explore(self, max_states: int, max_bytes: int, dfa: TokenDfa | None = None, "
                   "dfa_start: int = 2) -> tuple[bytes, bytes, bytes]"))
      .def(
          "renew", [](MachineSlot& slot) { slot.renew(*slot.machine()); }, nb::call_guard<WithoutGil>(),
          "Let a machine without the states of decoding take over, as it does where memory gets short.")
      .def_prop_ro(
          "state_count", [](MachineSlot& slot) { return slot.machine()->state_count(); }, nb::call_guard<WithoutGil>())
      .def_prop_ro(
          "memory_bytes", [](MachineSlot& slot) { return slot.machine()->memory_bytes(); },
          nb::call_guard<WithoutGil>());

  nb::class_<LanguageSlot, MachineSlot>(m, "LanguageMachine")
      .def(nb::new_(&make_language_machine), "language"_a, "vocabulary"_a, "states"_a, "memory_bytes"_a, "steps"_a,
           "cancel"_a.none() = nb::none())
      .def(
          "longest",
          [](LanguageSlot& slot) {
            const std::shared_ptr<LanguageMachine> machine = slot.language();
            return machine->budget().longest_completion(machine->start());
          },
          nb::call_guard<WithoutGil>(), "The tokens of the longest text, if there is one.")
      .def(
          "shortest",
          [](LanguageSlot& slot) {
            const std::shared_ptr<LanguageMachine> machine = slot.language();
            return machine->budget().shortest_completion(machine->start());
          },
          nb::call_guard<WithoutGil>(), "The tokens of a shortest text.");

  nb::class_<CanonicalSlot, MachineSlot>(m, "CanonicalMachine")
      .def(nb::new_(&make_canonical_machine), "language"_a, "vocabulary"_a, "transitions"_a, "states"_a,
           "memory_bytes"_a, "steps"_a, "cancel"_a.none() = nb::none(), "part"_a.none() = nb::none(),
           "part_tokens"_a = 0);

  nb::class_<PartBudgetSlot, MachineSlot>(m, "PartBudgetMachine")
      .def(nb::new_(&make_part_budget_machine), "whole"_a, "part"_a, "tokens"_a, "states"_a, "memory_bytes"_a,
           "steps"_a, "cancel"_a.none() = nb::none());

  nb::class_<TokenDfaSlot, MachineSlot>(m, "TokenDfaMachine")
      .def(nb::new_([](std::shared_ptr<const TokenDfa> dfa, std::shared_ptr<const Vocabulary> vocabulary,
                       std::uint32_t start) {
             return std::make_shared<TokenDfaSlot>(
                 std::make_shared<TokenDfaMachine>(std::move(dfa), std::move(vocabulary), start));
           }),
           "dfa"_a, "vocabulary"_a, "start"_a = TokenDfa::kStart);

  m.def("merge_states", &merge, "next"_a, "labels"_a, "classes"_a,
        "The part of each state in the coarsest partition that separates the labels and that symbols respect.");
}

}  // namespace detent
