// Tokenizers: encoders, and what tokens do to the split of one.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "base/error.h"
#include "bind/bindings.h"
#include "bind/convert.h"
#include "bpe/encoder.h"
#include "bpe/merge_adjacency.h"
#include "runtime/pretoken_transitions.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

using Instructions = std::vector<std::tuple<std::uint8_t, std::uint64_t, std::uint32_t, std::uint32_t>>;

std::shared_ptr<Encoder> make_encoder(bool pieces, const nb::list& texts, const nb::bytes& base,
                                      const nb::bytes& byte_pieces, const nb::bytes& merges, bool ignore_merges,
                                      std::vector<std::pair<std::uint32_t, std::uint8_t>> ranges, unsigned class_count,
                                      const Instructions& program, bool one_chunk, const nb::bytes& scores,
                                      double unknown, bool words) {
  Encoder::Recipe recipe;
  recipe.pieces = pieces;
  recipe.size = static_cast<std::uint32_t>(texts.size());
  for (const nb::handle text : texts) recipe.texts.push_back(view(nb::cast<nb::bytes>(text)));
  const std::vector<std::uint32_t> pairs = numbers(base), rows = numbers(merges);
  for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) recipe.base.emplace_back(pairs[i], pairs[i + 1]);
  for (std::size_t i = 0; i + 3 < rows.size(); i += 4)
    recipe.merges.push_back({rows[i], rows[i + 1], rows[i + 2], rows[i + 3]});
  recipe.byte_pieces = numbers(byte_pieces);
  recipe.ignore_merges = ignore_merges;
  recipe.ranges = std::move(ranges);
  recipe.class_count = class_count;
  for (const auto& [op, set, to, or_to] : program) {
    if (op > static_cast<std::uint8_t>(PreTokenizer::Op::fork)) throw Error(ErrorKind::argument, "split_program");
    recipe.program.push_back({static_cast<PreTokenizer::Op>(op), set, to, or_to});
  }
  recipe.one_chunk = one_chunk;
  recipe.scores.resize(scores.size() / sizeof(double));
  if (!recipe.scores.empty()) std::memcpy(recipe.scores.data(), scores.c_str(), recipe.scores.size() * sizeof(double));
  recipe.unknown = unknown;
  recipe.words = words;
  const WithoutGil release;  // the list keeps the texts alive
  return std::make_shared<Encoder>(recipe);
}

}  // namespace

void bind_tokenizer(nb::module_& m) {
  nb::class_<Encoder>(m, "Encoder", "A tokenizer; immutable.")
      .def(nb::new_(&make_encoder), "pieces"_a, "texts"_a, "base"_a, "byte_pieces"_a, "merges"_a, "ignore_merges"_a,
           "ranges"_a, "class_count"_a, "program"_a, "one_chunk"_a, "scores"_a = nb::bytes("", 0), "unknown"_a = 0.0,
           "words"_a = false)
      .def(
          "encode",
          [](const Encoder& encoder, const nb::bytes& text) {
            const std::string_view bytes = view(text);
            const WithoutGil release;
            return encoder.encode(bytes);
          },
          "text"_a)
      .def(
          "live",
          [](const Encoder& encoder, std::uint32_t token) {
            return token < encoder.size() && encoder.adjacency().live(token);
          },
          "token"_a)
      .def(
          "burst",
          [](const Encoder& encoder, std::uint32_t token) {
            const auto* pairs = dynamic_cast<const MergeAdjacency*>(&encoder.adjacency());
            return pairs && token < encoder.size() && pairs->burst(token);
          },
          "token"_a)
      .def(
          "follows",
          [](const Encoder& encoder, std::uint32_t left, std::uint32_t right) {
            return left < encoder.size() && right < encoder.size() && encoder.follows(left, right);
          },
          "left"_a, "right"_a, "Whether the two may stand side by side, whatever the split.")
      .def(
          "after",
          [](const Encoder& encoder, std::uint32_t left) {
            if (left >= encoder.size() || !encoder.adjacency().live(left)) return std::vector<std::uint32_t>{};
            std::vector<std::uint32_t> row((encoder.size() + 31) / 32, UINT32_MAX), ids;
            encoder.adjacency().forbid_after(left, row.data());
            for (std::uint32_t t = 0; t < encoder.size(); ++t) {
              if (encoder.adjacency().live(t) && (row[t >> 5] >> (t & 31) & 1)) ids.push_back(t);
            }
            return ids;
          },
          "left"_a, "The tokens that may stand behind another, whatever the split.")
      .def_prop_ro("split_states", [](const Encoder& encoder) { return encoder.split().state_count(); });

  nb::class_<PretokenTransitions>(m, "PretokenTransitions",
                                  "What the tokens of a vocabulary do to the split of its tokenizer.")
      .def(nb::new_([](std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<const Encoder> encoder) {
             return std::make_shared<PretokenTransitions>(std::move(vocabulary), std::move(encoder));
           }),
           "vocabulary"_a, "encoder"_a);
}

}  // namespace detent
