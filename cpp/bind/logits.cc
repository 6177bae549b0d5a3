// MaskComputer applied to logits in CPU memory.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "logits/apply.h"
#include "logits/mask_reductions.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

// detent.mask has checked the arrays and raised readable errors. The checks here only prevent access outside of memory.
void apply(nb::handle logits, int type, nb::handle mask) {
  const std::size_t item_bytes = type == static_cast<int>(LogitType::float32) ? 4 : 2;
  if (type < 0 || type > static_cast<int>(LogitType::bfloat16)) throw Error(ErrorKind::argument, "logits");
  const MatrixBuffer to(logits, item_bytes, PyBUF_WRITABLE), bits(mask, sizeof(std::uint32_t));
  const bool rows_overlap = to.rows() > 1 && to.row_stride() < to.width();
  if (rows_overlap || (bits.rows() != 1 && bits.rows() != to.rows())) throw Error(ErrorKind::argument, "logits");
  const WithoutGil release;
  const auto* words = static_cast<const std::uint32_t*>(bits.data());
  const std::size_t end = allowed_beyond(to.width(), words, bits.rows(), bits.width(), bits.row_stride());
  if (end != 0) {
    throw Error(ErrorKind::argument, "logits_width", static_cast<std::int64_t>(to.width()),
                static_cast<std::int64_t>(end) - 1);
  }
  apply_mask(to.data(), static_cast<LogitType>(type), to.rows(), to.width(), to.row_stride(), words, bits.width(),
             bits.rows() == 1 ? 0 : bits.row_stride());
}

std::optional<nb::bytes> few(nb::handle mask, std::size_t most) {
  const ArrayBuffer row(mask, kInt32, 4);
  const auto ids = few_allowed(row.data<std::uint32_t>(), row.size(), most);
  return ids ? std::optional(to_bytes(*ids)) : std::nullopt;
}

std::pair<double, double> sums(nb::handle numbers, nb::handle mask) {
  const ArrayBuffer row(numbers, kFloat32, 4), bits(mask, kInt32, 4);
  const WithoutGil release;
  const MaskedSums found = allowed_sums(row.data<float>(), row.size(), bits.data<std::uint32_t>(), bits.size());
  return {found.allowed, found.masked};
}

void copy(nb::handle logits, nb::handle mask, nb::handle to) {
  const ArrayBuffer row(logits, kFloat32, 4), bits(mask, kInt32, 4), copy(to, kFloat32, 4, PyBUF_WRITABLE);
  if (row.size() != copy.size()) throw nb::type_error("expected rows of one length");
  const WithoutGil release;
  copy_masked(row.data<float>(), copy.data<float>(), row.size(), bits.data<std::uint32_t>(), bits.size());
}

}  // namespace

void bind_logits(nb::module_& m) {
  m.def("apply_mask", &apply, "logits"_a, "type"_a, "mask"_a,
        nb::sig("def apply_mask(logits: object, type: int, mask: object) -> None"),
        "Set the logits [rows, width] that a mask does not allow to -inf; `type` is a LogitType (cpp/logits/apply.h).");
  m.def("few_allowed", &few, "mask"_a, "most"_a, "The ids that a mask row allows, if at most so many.",
        nb::sig("def few_allowed(mask: object, most: int) -> bytes | None"));
  m.def("allowed_sums", &sums, "numbers"_a, "mask"_a,
        "The sums of what a mask row allows of a float32 row, and of the rest.",
        nb::sig("def allowed_sums(numbers: object, mask: object) -> tuple[float, float]"));
  m.def("copy_masked", &copy, "logits"_a, "mask"_a, "to"_a,
        "Copy a float32 row, with -inf where a mask row has no bit.",
        nb::sig("def copy_masked(logits: object, mask: object, to: object) -> None"));
}

}  // namespace detent
