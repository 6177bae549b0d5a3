// Vocabularies, and the flag that cancels work.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <atomic>

#include "base/checksum.h"
#include "base/error.h"
#include "base/limits.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "vocab/merges_span.h"
#include "vocab/vocabulary.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

// Some 8,000 dense masks of a vocabulary of 128k.
constexpr std::size_t kDefaultCacheBytes = 128 << 20;

std::shared_ptr<Vocabulary> make_vocabulary(const nb::list& tokens, const std::vector<std::uint32_t>& special,
                                            const std::vector<std::uint32_t>& eos_ids, std::uint32_t size,
                                            std::size_t cache_bytes) {
  std::vector<std::string_view> views;
  views.reserve(tokens.size());
  for (const nb::handle token : tokens) views.push_back(view(nb::cast<nb::bytes>(token)));
  const WithoutGil release;  // the list keeps the bytes alive
  return std::make_shared<Vocabulary>(views, special, eos_ids, size, cache_bytes);
}

// From the bytes of all tokens in a row, and where each ends.
std::shared_ptr<Vocabulary> vocabulary_from_arrays(nb::handle pool, nb::handle ends,
                                                   const std::vector<std::uint32_t>& special,
                                                   const std::vector<std::uint32_t>& eos_ids, std::uint32_t size,
                                                   nb::handle trie, std::size_t cache_bytes) {
  const ArrayBuffer bytes(pool, kBytes, 1), stops(ends, kInt32, 4), saved(trie, kBytes, 1);
  std::vector<std::string_view> views;
  views.reserve(stops.size());
  std::size_t begin = 0;
  for (std::uint32_t end : stops.span<std::uint32_t>()) {
    if (end < begin || end > bytes.size()) throw Error(ErrorKind::vocabulary, "token_ends", end);
    views.emplace_back(bytes.data<const char>() + begin, end - begin);
    begin = end;
  }
  const WithoutGil release;
  return std::make_shared<Vocabulary>(views, special, eos_ids, size, cache_bytes,
                                      std::string_view(saved.data<const char>(), saved.size()));
}

nb::bytes checksum_of(nb::handle data) {
  const ArrayBuffer bytes(data, kBytes, 1);
  const std::array<std::uint64_t, 2> sum = checksum(bytes.span<std::uint8_t>());
  return nb::bytes(reinterpret_cast<const char*>(sum.data()), sizeof(sum));
}

}  // namespace

void bind_vocabulary(nb::module_& m) {
  m.def("checksum", &checksum_of, "data"_a, nb::sig("def checksum(data: object) -> bytes"),
        "Return the 16 bytes of the checksum of saved files.");
  m.def(
      "merges_span", [](const nb::bytes& json) { return merges_span(view(json)); }, "json"_a,
      "Return where the array `model.merges` of a tokenizer.json begins and where it ends, if the text has the usual "
      "form.");

  nb::class_<CancelFlag>(m, "CancelFlag")
      .def("__init__", [](CancelFlag* flag) { new (flag) CancelFlag(false); })
      .def("set", [](CancelFlag& flag) { flag.store(true, std::memory_order_relaxed); })
      .def("is_set", [](const CancelFlag& flag) { return flag.load(std::memory_order_relaxed); });

  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(nb::new_(&make_vocabulary), "tokens"_a, "special"_a, "eos_ids"_a, "size"_a,
           "cache_bytes"_a = kDefaultCacheBytes)
      .def_static("from_arrays", &vocabulary_from_arrays, "pool"_a, "ends"_a, "special"_a, "eos_ids"_a, "size"_a,
                  "trie"_a, "cache_bytes"_a = kDefaultCacheBytes,
                  nb::sig("def from_arrays(pool: object, ends: object, special: Sequence[int], eos_ids: Sequence[int], "
                          "size: int, trie: object, cache_bytes: int = 134217728) -> Vocabulary"),
                  "Make a vocabulary of the joined bytes of its tokens, the int32 offsets where each ends, and the "
                  "`save_trie` of an equal one.")
      .def(
          "save_trie", [](const Vocabulary& v) { return to_bytes(v.save_trie()); }, "Return the trie as bytes.")
      .def_prop_ro("size", &Vocabulary::size)
      .def_prop_ro("word_count", &Vocabulary::word_count)
      .def_prop_ro("longest", &Vocabulary::max_token_length)
      .def_prop_ro("has_every_byte", [](const Vocabulary& v) { return v.tokenizable_texts() == nullptr; })
      .def(
          "with_special", [](const Vocabulary& v) { return Vocabulary::with_special(v); }, nb::call_guard<WithoutGil>())
      .def_prop_ro("trie_nodes", [](const Vocabulary& v) { return v.trie().size(); })
      .def_prop_ro("cache_bytes", [](const Vocabulary& v) { return v.cache().bytes(); })
      .def_prop_ro(
          "cache_counts",
          [](const Vocabulary& v) {
            const auto masks = v.cache().counts(MaskCache::Kind::mask);
            const auto slices = v.cache().counts(MaskCache::Kind::slice);
            return nb::make_tuple(masks.hits, masks.misses, slices.hits, slices.misses);
          },
          nb::sig("def cache_counts(self) -> tuple[int, int, int, int]"),
          "Hits and misses of masks, hits and misses of the masks of slices.");
}

}  // namespace detent
