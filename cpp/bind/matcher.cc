// Matchers, alone and in batches.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "bind/matcher_docs.h"
#include "runtime/batch.h"
#include "runtime/draft_tree.h"
#include "runtime/mask_slots.h"
#include "runtime/matcher.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

void fill(Matcher& matcher, nb::handle row) {
  const MaskBuffer buffer(row, {matcher.vocabulary().word_count()});
  if (matcher.try_fill_cached(buffer.words())) return;  // cheaper than to release the GIL and take it again
  const WithoutGil release;
  matcher.fill(buffer.words());
}

void check_width(const std::vector<Matcher*>& matchers, std::size_t words) {
  for (const Matcher* matcher : matchers) {
    if (!matcher) throw nb::type_error("a matcher is None");
    const std::size_t others = matcher->vocabulary().word_count();
    if (others != words) {
      throw Error(ErrorKind::argument, "mask_words", static_cast<std::int64_t>(words),
                  static_cast<std::int64_t>(others));
    }
  }
}

void fill_rows(const std::vector<Matcher*>& matchers, nb::handle rows, unsigned threads) {
  if (!matchers.at(0)) throw nb::type_error("a matcher is None");
  const std::size_t words = matchers[0]->vocabulary().word_count();
  check_width(matchers, words);
  const MaskBuffer buffer(rows, {matchers.size(), words});
  const WithoutGil release;
  fill_batch(matchers, buffer.words(), words, threads);
}

// MaskSlots over the rows of an array; keeps the array alive.
class SlotsOfArray {
 public:
  SlotsOfArray(nb::handle rows, std::size_t count, std::size_t words)
      : buffer_(rows, {count, words}), words_(words), slots_(buffer_.words(), count, words) {}

  std::vector<std::uint32_t> fill(const std::vector<Matcher*>& matchers, nb::handle index, unsigned threads,
                                  std::optional<double> wait) {
    if (is_busy_) throw Error(ErrorKind::busy, "mask_slots");
    if (wait && !(*wait >= 0 && *wait <= kLongestWait)) throw Error(ErrorKind::argument, "wait");
    is_busy_ = true;
    const std::unique_ptr<bool, void (*)(bool*)> free(&is_busy_, [](bool* busy) { *busy = false; });
    check_width(matchers, words_);
    const MaskBuffer numbers(index, {matchers.size()});
    try {
      write(matchers, numbers.words(), threads, wait);
    } catch (...) {
      slots_.forget_written();
      throw;
    }
    return slots_.written();
  }
  void forget() {
    if (is_busy_) throw Error(ErrorKind::busy, "mask_slots");
    slots_.forget();
  }

 private:
  static constexpr double kLongestWait = 3600;  // seconds

  void write(const std::vector<Matcher*>& matchers, std::uint32_t* numbers, unsigned threads,
             std::optional<double> wait) {
    if (!slots_.find(matchers, numbers)) return;
    if (!wait) {
      const WithoutGil release;
      return slots_.compute(matchers, threads, numbers);
    }
    const auto time = std::chrono::nanoseconds(static_cast<std::int64_t>(*wait * 1e9));
    if (*wait == 0) return slots_.compute_within(matchers, time, numbers);
    const WithoutGil release;
    slots_.compute_within(matchers, time, numbers);
  }

  MaskBuffer buffer_;
  std::size_t words_;
  MaskSlots slots_;
  bool is_busy_ = false;  // read and written with the GIL
};

void advance_bytes(Matcher& matcher, nb::handle text) {
  if (!nb::isinstance<nb::bytes>(text)) throw Error(ErrorKind::argument, "bytes");
  const std::string_view bytes = view(nb::borrow<nb::bytes>(text));
  const WithoutGil release;
  matcher.advance_bytes(bytes);
}

nb::tuple diagnose(const Matcher& matcher, const nb::bytes& text) {
  const Diagnosis diagnosis = matcher.diagnose(view(text));
  return nb::make_tuple(diagnosis.offset, to_bytes(diagnosis.expected), diagnosis.complete, diagnosis.is_tokenizable);
}

bool has_taken(const Matcher& matcher, nb::handle token_ids) {
  const ArrayBuffer ids(token_ids, kInt64, sizeof(std::int64_t));
  return matcher.has_taken(ids.span<std::int64_t>());
}

bool equal_ids(nb::handle ids, nb::handle others) {
  const ArrayBuffer row(ids, kInt64, sizeof(std::int64_t)), other(others, kInt64, sizeof(std::int64_t));
  return std::ranges::equal(row.span<std::int64_t>(), other.span<std::int64_t>());
}

std::size_t fill_tree(const Matcher& matcher, nb::handle tokens, nb::handle parents, nb::handle rows, nb::handle index,
                      nb::handle allowed) {
  const ArrayBuffer ids(tokens, kInt64, sizeof(std::int64_t)), above(parents, kInt64, sizeof(std::int64_t));
  const std::size_t count = ids.size();
  const ArrayBuffer verdicts(allowed, kBytes, 1, PyBUF_WRITABLE);
  if (above.size() != count || verdicts.size() != count) throw Error(ErrorKind::argument, "draft_sizes");
  const std::size_t words = matcher.vocabulary().word_count();
  const MaskBuffer masks(rows, {count + 1, words}), numbers(index, {count + 1});
  const DraftTree tree(ids.span<std::int64_t>(), above.span<std::int64_t>());
  const WithoutGil release;
  return tree.fill(matcher, masks.words(), words, reinterpret_cast<std::int32_t*>(numbers.words()),
                   verdicts.data<std::uint8_t>());
}

std::size_t validate_tokens(const Matcher& matcher, nb::handle tokens) {
  const ArrayBuffer ids(tokens, kInt64, sizeof(std::int64_t));
  const WithoutGil release;
  return validate(matcher, ids.span<std::int64_t>());
}

void bind_refusal(nb::module_& m) {
  nb::enum_<Refusal>(m, "Refusal", "Why a token may not follow.")
      .value("NONE", Refusal::none)
      .value("UNKNOWN_TOKEN", Refusal::unknown_token)
      .value("FINISHED", Refusal::finished)
      .value("INCOMPLETE", Refusal::incomplete)
      .value("NO_TEXT", Refusal::no_text)
      .value("LANGUAGE", Refusal::language)
      .value("TOKENIZATION", Refusal::tokenization)
      .value("TOKEN_DFA", Refusal::token_dfa)
      .value("BUDGET", Refusal::budget);
}

}  // namespace

void bind_matcher(nb::module_& m) {
  bind_refusal(m);
  nb::class_<Matcher>(m, "Matcher")
      .def(
          "__init__",
          [](Matcher* matcher, std::shared_ptr<MachineSlot> machine, std::optional<std::uint32_t> max_tokens,
             const std::vector<std::uint32_t>& prompt_tokens) {
            const WithoutGil release;
            new (matcher) Matcher(std::move(machine), max_tokens.value_or(Matcher::kNoBudget), prompt_tokens);
          },
          "machine"_a, "max_tokens"_a = nb::none(), "prompt_tokens"_a = std::vector<std::uint32_t>{})
      .def(nb::init<const Matcher&>(), "other"_a)
      .def("fill_mask", &fill, "row"_a.none(), nb::sig("def fill_mask(self, row: object) -> None"),
           matcher_docs::kFillMask)
      .def(
          "advance", [](Matcher& matcher, nb::handle token_id) { matcher.advance(to_index(token_id)); },
          "token_id"_a.none(), nb::sig("def advance(self, token_id: typing.SupportsIndex) -> None"),
          matcher_docs::kAdvance)
      .def("advance_bytes", &advance_bytes, "text"_a.none(), nb::sig("def advance_bytes(self, text: bytes) -> None"),
           "Take bytes as one step that is no token.")
      .def(
          "rollback", [](Matcher& matcher, nb::handle steps) { matcher.rollback(to_index(steps)); },
          "steps"_a.none() = 1, nb::sig("def rollback(self, steps: typing.SupportsIndex = 1) -> None"),
          matcher_docs::kRollback)
      .def(
          "_refusal", [](const Matcher& matcher, nb::handle token_id) { return matcher.refusal(to_index(token_id)); },
          "token_id"_a.none(), nb::sig("def _refusal(self, token_id: typing.SupportsIndex) -> Refusal"),
          "Return why a token may not follow.")
      .def("_diagnose", &diagnose, "text"_a,
           nb::sig("def _diagnose(self, text: bytes) -> tuple[int, bytes, bool, bool]"),
           "Return how many bytes may follow, which byte may follow these, and whether they complete the text and can "
           "be "
           "continued with tokens.")
      .def("_has_taken", &has_taken, "token_ids"_a, nb::sig("def _has_taken(self, token_ids: object) -> bool"),
           "Return whether the steps are exactly these tokens, int64[n]. Linear, without a copy.")
      .def(
          "_fill_draft_tree", &fill_tree, "tokens"_a, "parents"_a, "rows"_a, "index"_a, "allowed"_a,
          nb::sig("def _fill_draft_tree(self, tokens: object, parents: object, rows: object, index: object, "
                  "allowed: object) -> int"),
          "Write the masks of a draft tree: tokens and parents int64[n], rows int32[n + 1, words], index int32[n + 1], "
          "allowed uint8[n]; return the number of rows written.")
      .def("_count_allowed", &validate_tokens, "tokens"_a, nb::sig("def _count_allowed(self, tokens: object) -> int"),
           "Return how many of the tokens, int64[n], may follow one after the other.")
      .def("completion", &Matcher::completion, nb::call_guard<WithoutGil>(), matcher_docs::kCompletion)
      .def("forced", &Matcher::forced, nb::call_guard<WithoutGil>(), matcher_docs::kForced)
      .def_prop_ro(
          "budget_bound_at",
          [](const Matcher& matcher) -> std::optional<std::int64_t> {
            const std::int64_t step = matcher.budget_bound_at();
            return step < 0 ? std::nullopt : std::optional(step);
          },
          matcher_docs::kBudgetBoundAt)
      .def_prop_ro("is_accepting", &Matcher::accepting, matcher_docs::kIsAccepting)
      .def_prop_ro("is_finished", &Matcher::finished, matcher_docs::kIsFinished)
      .def_prop_ro("step_count", &Matcher::step_count, matcher_docs::kStepCount)
      .def_prop_ro(
          "_state_key",
          [](const Matcher& matcher) {
            const TokenState state = matcher.state_key();
            return nb::make_tuple(state.language, static_cast<std::int32_t>(state.last_token), state.positions,
                                  state.part, state.part_tokens, matcher.machine_serial());
          },
          nb::sig("def _state_key(self) -> tuple[int, int, int, int, int, int]"),
          "The state as numbers: equal for equal states of one machine.")
      .def_prop_ro("token_ids", &Matcher::token_ids, matcher_docs::kTokenIds);
  m.def("equal_ids", &equal_ids, "ids"_a, "others"_a, nb::sig("def equal_ids(ids: object, others: object) -> bool"),
        "Whether two rows of token ids, int64[n], are the same. Without a copy.");
  nb::class_<SlotsOfArray>(m, "MaskSlots", "Mask rows that a batch shares.")
      .def(nb::init<nb::handle, std::size_t, std::size_t>(), "rows"_a.none(), "count"_a, "words"_a,
           nb::sig("def __init__(self, rows: object, count: int, words: int) -> None"))
      .def("fill", &SlotsOfArray::fill, "matchers"_a, "index"_a, "threads"_a, "wait"_a.none(),
           nb::sig("def fill(self, matchers: Sequence[Matcher], index: object, threads: int, wait: float | None) -> "
                   "list[int]"),
           "Write the slot of each matcher's mask to `index`, int32[n]; return the slots that were written.")
      .def("forget", &SlotsOfArray::forget);
  m.def("fill_batch", &fill_rows, "matchers"_a, "rows"_a.none(), "threads"_a,
        nb::sig("def fill_batch(matchers: Sequence[Matcher], rows: object, threads: int) -> None"));
}

}  // namespace detent
