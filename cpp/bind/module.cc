// The Python module detent._core: conversions and the release of the GIL; every algorithm is in the static library.
#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fork_guard.h"
#include "bpe/encoder.h"
#include "bpe/merge_adjacency.h"
#include "expr/codec.h"
#include "expr/node.h"
#include "expr/special.h"
#include "expr/utf8.h"
#include "logits/apply.h"
#include "logits/mask_reductions.h"
#include "runtime/batch.h"
#include "runtime/guide.h"
#include "runtime/matcher.h"
#include "runtime/pretoken_transitions.h"
#include "runtime/table.h"
#include "vocab/vocabulary.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace detent {
namespace {

// Releases the GIL for a block. Before 3.14, CPython ends a daemon thread that wants the GIL back while the interpreter
// finalises by unwinding its stack, which no destructor survives: such a thread waits for the end of the process
// instead.
class WithoutGil {
 public:
  WithoutGil() : state_(PyEval_SaveThread()) {}
  ~WithoutGil() {
    try {
      PyEval_RestoreThread(state_);
    } catch (abi::__forced_unwind&) {
      for (;;) pause();
    }
  }
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

 private:
  PyThreadState* state_;
};

// Some 8,000 dense masks of a vocabulary of 128k.
constexpr std::size_t kDefaultCacheBytes = 128 << 20;

const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::argument: return "argument";
    case ErrorKind::unsupported: return "unsupported";
    case ErrorKind::empty: return "empty";
    case ErrorKind::limit: return "limit";
    case ErrorKind::cancelled: return "cancelled";
    case ErrorKind::busy: return "busy";
    case ErrorKind::state: return "state";
    case ErrorKind::vocabulary: return "vocabulary";
  }
  return "argument";
}

// Python composes the sentence: detent.errors.from_core(kind, subject, given, limit) -> exception.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    try {
      const nb::object raised =
          nb::module_::import_("detent.errors")
              .attr("from_core")(kind_name(error.kind()), error.subject(), error.given(), error.limit());
      PyErr_SetObject(raised.type().ptr(), raised.ptr());
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  }
}

ByteSet byte_set(const nb::bytes& values) {
  ByteSet set;
  const auto* data = reinterpret_cast<const std::uint8_t*>(values.data());
  for (std::size_t i = 0; i < values.size(); ++i) set.insert(data[i]);
  return set;
}

std::string_view view(const nb::bytes& text) { return {static_cast<const char*>(text.data()), text.size()}; }

std::shared_ptr<Vocabulary> make_vocabulary(const nb::list& tokens, const std::vector<std::uint32_t>& special,
                                            const std::vector<std::uint32_t>& eos_ids, std::uint32_t size,
                                            std::size_t cache_bytes) {
  std::vector<std::string_view> views;
  views.reserve(tokens.size());
  for (const nb::handle token : tokens) views.push_back(view(nb::cast<nb::bytes>(token)));
  const WithoutGil release;  // the list keeps the bytes alive
  return std::make_shared<Vocabulary>(views, special, eos_ids, size, cache_bytes);
}

std::shared_ptr<Guide> make_guide(const NodeRef& language, std::shared_ptr<const Vocabulary> vocabulary,
                                  std::int64_t states, std::int64_t memory_bytes, std::int64_t steps,
                                  std::shared_ptr<CancelFlag> cancel, std::shared_ptr<PretokenTransitions> canonical) {
  const WithoutGil release;
  return std::make_shared<Guide>(language, std::move(vocabulary), Limits{states, memory_bytes, steps},
                                 std::move(cancel), std::move(canonical));
}

nb::bytes to_bytes(const ByteSet& set) {
  std::string values;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (set.contains(static_cast<std::uint8_t>(byte))) values += static_cast<char>(byte);
  }
  return nb::bytes(values.data(), values.size());
}

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// Rows of unsigned 32-bit numbers in a bytes object.
std::vector<std::uint32_t> numbers(const nb::bytes& raw) {
  if (raw.size() % sizeof(std::uint32_t) != 0) throw Error(ErrorKind::argument, "numbers");
  std::vector<std::uint32_t> found(raw.size() / sizeof(std::uint32_t));
  if (!found.empty()) std::memcpy(found.data(), raw.data(), raw.size());
  return found;
}

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

// Mask rows of a Python object, int32 there and unsigned here: by the buffer protocol, which costs least. What it does
// not fit, detent.mask.check_mask turns into an array (torch tensors) or an error that says what was found.
class MaskBuffer {
 public:
  MaskBuffer(nb::handle object, std::initializer_list<std::size_t> shape) : object_(nb::borrow(object)) {
    if (acquire(shape)) return;
    nb::list wanted;
    for (std::size_t size : shape) wanted.append(size);
    object_ = nb::module_::import_("detent.mask").attr("check_mask")(object_, nb::tuple(wanted));
    if (!acquire(shape)) throw nb::type_error("detent.mask.check_mask must return an int32 array");
  }
  ~MaskBuffer() {
    if (held_) PyBuffer_Release(&view_);
  }
  MaskBuffer(const MaskBuffer&) = delete;
  MaskBuffer& operator=(const MaskBuffer&) = delete;

  std::uint32_t* words() const { return static_cast<std::uint32_t*>(view_.buf); }

 private:
  bool acquire(std::initializer_list<std::size_t> shape) {
    if (!PyObject_CheckBuffer(object_.ptr())) return false;
    if (PyObject_GetBuffer(object_.ptr(), &view_, PyBUF_WRITABLE | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
      PyErr_Clear();
      return false;
    }
    bool fits = view_.itemsize == 4 && view_.format && (view_.format[0] == 'i' || view_.format[0] == 'l') &&
                view_.format[1] == 0 && view_.ndim == static_cast<int>(shape.size()) &&
                reinterpret_cast<std::uintptr_t>(view_.buf) % 4 == 0;
    for (std::size_t i = 0; fits && i < shape.size(); ++i) {
      fits = view_.shape[i] == static_cast<Py_ssize_t>(shape.begin()[i]);
    }
    if (!fits) PyBuffer_Release(&view_);
    return held_ = fits;
  }

  nb::object object_;
  Py_buffer view_{};
  bool held_ = false;
};

// A row of 32-bit numbers of a NumPy array that our own Python code made; `formats` are the letters that it may have.
class RowBuffer {
 public:
  RowBuffer(nb::handle object, std::string_view formats, int flags = 0) {
    flags |= PyBUF_FORMAT | PyBUF_C_CONTIGUOUS;
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
    if (view_.ndim != 1 || view_.itemsize != 4 || !view_.format ||
        formats.find(view_.format) == std::string_view::npos) {
      PyBuffer_Release(&view_);
      throw nb::type_error("expected a row of int32 or float32");
    }
  }
  ~RowBuffer() { PyBuffer_Release(&view_); }
  RowBuffer(const RowBuffer&) = delete;
  RowBuffer& operator=(const RowBuffer&) = delete;

  template <class T>
  T* data() const {
    return static_cast<T*>(view_.buf);
  }
  std::size_t size() const { return static_cast<std::size_t>(view_.shape[0]); }

 private:
  Py_buffer view_{};
};

void fill(Matcher& matcher, nb::handle row) {
  const MaskBuffer buffer(row, {matcher.guide()->vocabulary().word_count()});
  if (matcher.fill_at_once(buffer.words())) return;  // cheaper than to release the GIL and take it again
  const WithoutGil release;
  matcher.fill(buffer.words());
}

void fill_batch(const std::vector<Matcher*>& matchers, nb::handle rows, unsigned threads) {
  const std::size_t words = matchers.at(0)->guide()->vocabulary().word_count();
  for (const Matcher* matcher : matchers) {
    const std::size_t others = matcher->guide()->vocabulary().word_count();
    if (others != words) {
      throw Error(ErrorKind::argument, "mask_words", static_cast<std::int64_t>(words),
                  static_cast<std::int64_t>(others));
    }
  }
  const MaskBuffer buffer(rows, {matchers.size(), words});
  const WithoutGil release;
  fill_rows(matchers, buffer.words(), words, threads);
}

// Numbers cross as the bytes of uint32 arrays.
nb::bytes to_bytes(const std::vector<std::uint32_t>& values) {
  return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::uint32_t));
}

// (token classes, next states by state and class, accepting states). `held` is (start, classes, next states, token
// classes, whether each state accepts), of a table for the guide's vocabulary.
nb::tuple explore_guide(
    Guide& guide, std::uint32_t max_states, std::int64_t max_bytes,
    const std::optional<std::tuple<std::uint32_t, std::uint32_t, nb::bytes, nb::bytes, nb::bytes>>& held) {
  HeldTable table;
  if (held) {
    const auto& [start, classes, next, token_class, accepting] = *held;
    table = {start, classes, numbers(next), numbers(token_class), numbers(accepting)};
  }
  const TokenAutomaton found = [&] {
    const WithoutGil release;
    return explore(guide, max_states, max_bytes, held ? &table : nullptr);
  }();
  return nb::make_tuple(to_bytes(found.token_class), to_bytes(found.next), to_bytes(found.accepting));
}

// Python has checked that every number is below `states`.
nb::bytes merge_states(const nb::bytes& next, const nb::bytes& labels, std::uint32_t states, std::uint32_t classes) {
  const std::vector<std::uint32_t> entries = numbers(next), marks = numbers(labels);
  const std::vector<std::uint32_t> parts = [&] {
    const WithoutGil release;
    return merge(entries.data(), marks.data(), states, classes);
  }();
  return to_bytes(parts);
}

// Any integer object; anything else, and what is out of range, is said by detent.matcher.
std::int64_t to_index(nb::handle value) {
  const PyObject* raw = value.ptr();
  if (PyLong_CheckExact(const_cast<PyObject*>(raw))) {
    int overflow = 0;
    const long long index = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (!overflow) return index;
  }
  return nb::cast<std::int64_t>(nb::module_::import_("detent.matcher").attr("index_of")(value));
}

void advance(Matcher& matcher, nb::handle token_id) { matcher.advance(to_index(token_id)); }

// Pointers come from Python, which has checked type, device, shape and contiguity for NumPy and torch alike.
void apply(std::uintptr_t logits, int type, std::size_t rows, std::size_t width, std::size_t logit_stride,
           std::uintptr_t mask, std::size_t mask_words, std::size_t mask_stride) {
  const WithoutGil release;
  apply_mask(reinterpret_cast<void*>(logits), static_cast<LogitType>(type), rows, width, logit_stride,
             reinterpret_cast<const std::uint32_t*>(mask), mask_words, mask_stride);
}

constexpr std::string_view kInt32 = "il";

std::optional<nb::bytes> few(nb::handle mask, std::size_t most) {
  const RowBuffer row(mask, kInt32);
  const auto ids = few_allowed(row.data<std::uint32_t>(), row.size(), most);
  return ids ? std::optional(to_bytes(*ids)) : std::nullopt;
}

std::pair<double, double> sums(nb::handle numbers, nb::handle mask) {
  const RowBuffer row(numbers, "f"), bits(mask, kInt32);
  const WithoutGil release;
  const MaskedSums found = allowed_sums(row.data<float>(), row.size(), bits.data<std::uint32_t>(), bits.size());
  return {found.allowed, found.masked};
}

void copy(nb::handle logits, nb::handle mask, nb::handle to) {
  const RowBuffer row(logits, "f"), bits(mask, kInt32), copy(to, "f", PyBUF_WRITABLE);
  if (row.size() != copy.size()) throw nb::type_error("expected rows of one length");
  const WithoutGil release;
  copy_masked(row.data<float>(), copy.data<float>(), row.size(), bits.data<std::uint32_t>(), bits.size());
}

}  // namespace
}  // namespace detent

NB_MODULE(_core, m) {
  using namespace detent;
  ForkGuard::install();
  nb::set_leak_warnings(false);  // a module-level object of a user's script is no leak of ours
  nb::register_exception_translator(translate);

  nb::class_<NodeRef>(m, "Node", "The syntax of a language; immutable.")
      .def("__hash__", [](const NodeRef& node) { return static_cast<Py_hash_t>(node->hash().low >> 1); })
      .def("__eq__", [](const NodeRef& x, const NodeRef& y) { return Node::equal(*x, *y); })
      .def(
          "__eq__", [](const NodeRef&, nb::handle) { return nb::steal(Py_NewRef(Py_NotImplemented)); },
          nb::arg().none())
      .def("to_bytes", [](const NodeRef& node) { return to_bytes(encode_node(node)); })
      .def_prop_ro("depth", [](const NodeRef& node) { return node->depth(); })
      .def_prop_ro("has_special", [](const NodeRef& node) { return node->has_special(); })
      .def_prop_ro(
          "special_names",
          [](const NodeRef& node) {
            std::vector<nb::bytes> names;
            for (const std::string& name : special_names(node)) names.push_back(to_bytes(name));
            return names;
          },
          "Of the special tokens that a vocabulary must have.");
  m.attr("UNBOUNDED") = Node::kUnbounded;
  m.def("node_from_bytes", [](const nb::bytes& text) { return decode_node(view(text)); }, "text"_a);
  m.def("empty", &Node::empty);
  m.def("epsilon", &Node::epsilon);
  m.def("byte_set", [](const nb::bytes& values) { return Node::bytes(byte_set(values)); }, "values"_a);
  m.def("literal", [](const nb::bytes& text) { return Node::literal(std::string(view(text))); }, "text"_a);
  m.def("chars", &utf8_chars, "ranges"_a);
  m.def("concat", &Node::concat, "parts"_a);
  m.def("union", &Node::union_of, "parts"_a);
  m.def("intersection", &Node::intersection, "parts"_a);
  m.def("complement", &Node::complement, "part"_a);
  m.def(
      "repeat",
      [](const NodeRef& part, std::int64_t minimum, std::optional<std::int64_t> maximum) {
        const std::int64_t most = maximum.value_or(Node::kUnbounded);
        if (minimum >= Node::kUnbounded || (maximum && most >= Node::kUnbounded)) {
          throw Error(ErrorKind::limit, "repeat_count", std::max(minimum, most), Node::kUnbounded - 1);
        }
        if (minimum < 0 || most < minimum) throw Error(ErrorKind::argument, "repeat", minimum, most);
        return Node::repeat(part, static_cast<std::uint32_t>(minimum), static_cast<std::uint32_t>(most));
      },
      "part"_a, "minimum"_a, "maximum"_a.none());
  m.def("lookahead", &Node::lookahead, "body"_a, "negative"_a);
  m.def("lookbehind", &Node::lookbehind, "body"_a, "negative"_a);
  m.def("text_scope", &Node::scope, "body"_a);
  m.def(
      "reference",
      [](std::int64_t index) {
        if (index < 0 || index >= Node::kUnbounded)
          throw Error(ErrorKind::argument, "reference", index, Node::kUnbounded);
        return Node::reference(static_cast<std::uint32_t>(index));
      },
      "index"_a);
  m.def(
      "grammar",
      [](std::vector<NodeRef> definitions, std::int64_t start) {
        if (start < 0 || start >= std::ssize(definitions)) {
          throw Error(ErrorKind::argument, "reference", start, std::ssize(definitions));
        }
        return Node::grammar(std::move(definitions), static_cast<std::uint32_t>(start));
      },
      "definitions"_a, "start"_a);
  m.def("json_string", &Node::json_string, "texts"_a);
  m.def(
      "unordered",
      [](const std::vector<std::pair<NodeRef, bool>>& items, const std::optional<NodeRef>& others,
         const NodeRef& separator, std::uint32_t minimum, std::optional<std::uint32_t> maximum) {
        std::vector<NodeRef> members;
        std::string required;
        for (const auto& [member, is_required] : items) {
          members.push_back(member);
          required += is_required ? '1' : '0';
        }
        return Node::unordered(std::move(members), std::move(required), others.value_or(Node::empty()), separator,
                               minimum, maximum.value_or(Node::kUnbounded));
      },
      "items"_a, "others"_a.none(), "separator"_a, "minimum"_a, "maximum"_a.none());
  m.def(
      "ordered",
      [](const std::vector<std::pair<NodeRef, bool>>& members, const std::optional<NodeRef>& others,
         const NodeRef& separator, bool some) {
        std::vector<NodeRef> nodes;
        std::string required;
        for (const auto& [member, is_required] : members) {
          nodes.push_back(member);
          required += is_required ? '1' : '0';
        }
        return Node::ordered(std::move(nodes), std::move(required), others.value_or(Node::empty()), separator, some);
      },
      "members"_a, "others"_a.none(), "separator"_a, "some"_a = false);
  m.def(
      "maximal_munch",
      [](const NodeRef& body, const std::optional<NodeRef>& within) {
        return Node::maximal_munch(body, within.value_or(body));
      },
      "body"_a, "within"_a.none() = nb::none());
  m.def("not_followed_by", &Node::not_followed_by, "body"_a);
  m.def(
      "special",
      [](const nb::bytes& name, const std::optional<NodeRef>& otherwise) {
        return Node::special(std::string(view(name)), otherwise ? &*otherwise : nullptr);
      },
      "name"_a, "otherwise"_a.none() = nb::none(),
      "A token without text, and what stands for it where a vocabulary has none.");
  m.def(
      "special_as_text",
      [](const NodeRef& node, const std::vector<nb::bytes>& names) {
        std::vector<std::string> texts;
        for (const nb::bytes& name : names) texts.emplace_back(view(name));
        std::sort(texts.begin(), texts.end());
        return special_as_text(node, texts);
      },
      "node"_a, "names"_a, "Where these special tokens are plain texts.");
  m.def("without_special", &without_special, "node"_a, "The texts without special tokens, which have none.");

  nb::class_<CancelFlag>(m, "CancelFlag")
      .def("__init__", [](CancelFlag* flag) { new (flag) CancelFlag(false); })
      .def("set", [](CancelFlag& flag) { flag.store(true, std::memory_order_relaxed); })
      .def("is_set", [](const CancelFlag& flag) { return flag.load(std::memory_order_relaxed); });

  nb::class_<Vocabulary>(m, "Vocabulary")
      .def(nb::new_(&make_vocabulary), "tokens"_a, "special"_a, "eos_ids"_a, "size"_a,
           "cache_bytes"_a = kDefaultCacheBytes)
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
            const auto fragments = v.cache().counts(MaskCache::Kind::slice);
            return nb::make_tuple(masks.found, masks.made, fragments.found, fragments.made);
          },
          nb::sig("def cache_counts(self) -> tuple[int, int, int, int]"),
          "Masks found and made, fragments of masks found and made.");

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

  nb::class_<Automaton>(m, "Automaton", "A language as a lazily built automaton over bytes; state 0 is dead.")
      .def(
          "__init__",
          [](Automaton* automaton, const NodeRef& language, std::int64_t states, std::int64_t memory_bytes,
             std::int64_t steps) {
            new (automaton) Automaton(language, nullptr, 0, Limits{states, memory_bytes, steps}, nullptr);
          },
          "language"_a, "states"_a, "memory_bytes"_a, "steps"_a)
      .def_prop_ro("start", [](const Automaton& a) { return a.start().value; })
      .def_prop_ro(
          "class_of",
          [](const Automaton& a) { return nb::bytes(reinterpret_cast<const char*>(a.class_of().data()), 256); })
      .def(
          "accepting", [](const Automaton& a, std::uint32_t state) { return a.accepting(ExprId{state}); }, "state"_a)
      .def(
          "row",
          [](Automaton& a, std::uint32_t state) {
            const ExprId* row = a.row(ExprId{state});
            std::vector<std::uint32_t> next;
            for (std::uint32_t c = 0; c < a.class_count(); ++c) next.push_back(row[c].value);
            return next;
          },
          "state"_a)
      .def(
          "shortest_completion",
          [](Automaton& a, std::uint32_t state) { return to_bytes(a.shortest_completion(ExprId{state})); }, "state"_a);

  nb::class_<Guide>(m, "Guide")
      .def(nb::new_(&make_guide), "language"_a, "vocabulary"_a, "states"_a, "memory_bytes"_a, "steps"_a,
           "cancel"_a.none() = nb::none(), "canonical"_a.none() = nb::none())
      .def(
          "completes_within",
          [](Guide& guide, std::uint32_t tokens) { return guide.budget().within(guide.start(), tokens); }, "tokens"_a,
          nb::call_guard<WithoutGil>())
      .def(
          "shortest", [](Guide& guide) { return guide.budget().shortest(guide.start()); }, nb::call_guard<WithoutGil>())
      .def(
          "longest", [](Guide& guide) { return guide.budget().longest(guide.start()); }, nb::call_guard<WithoutGil>())
      .def("explore", &explore_guide, "max_states"_a, "max_bytes"_a, "held"_a.none() = nb::none(),
           nb::sig("def explore(self, max_states: int, max_bytes: int, "
                   "held: tuple[int, int, bytes, bytes, bytes] | None = None) -> tuple[bytes, bytes, bytes]"))
      .def_prop_ro("state_count", &Guide::state_count, nb::call_guard<WithoutGil>())
      .def_prop_ro("memory_bytes", &Guide::memory_bytes, nb::call_guard<WithoutGil>());

  nb::class_<Matcher>(m, "Matcher")
      .def(
          "__init__",
          [](Matcher* matcher, std::shared_ptr<Guide> guide, std::optional<std::uint32_t> max_tokens,
             const std::vector<std::uint32_t>& prompt_tokens) {
            const WithoutGil release;
            new (matcher) Matcher(std::move(guide), max_tokens.value_or(Matcher::kNoBudget), prompt_tokens);
          },
          "guide"_a, "max_tokens"_a = nb::none(), "prompt_tokens"_a = std::vector<std::uint32_t>{})
      .def(nb::init<const Matcher&>(), "other"_a)
      .def("fill_mask", &fill, "row"_a.none(), nb::sig("def fill_mask(self, row: object) -> None"))
      .def("advance", &advance, "token_id"_a.none(),
           nb::sig("def advance(self, token_id: typing.SupportsIndex) -> None"))
      .def(
          "advance_bytes",
          [](Matcher& matcher, nb::handle text) {
            if (!nb::isinstance<nb::bytes>(text)) throw Error(ErrorKind::argument, "bytes");
            const std::string_view bytes = view(nb::borrow<nb::bytes>(text));
            const WithoutGil release;
            matcher.advance_bytes(bytes);
          },
          "text"_a.none(), nb::sig("def advance_bytes(self, text: bytes) -> None"))
      .def(
          "rollback", [](Matcher& matcher, nb::handle steps) { matcher.rollback(to_index(steps)); },
          "steps"_a.none() = 1, nb::sig("def rollback(self, steps: typing.SupportsIndex = 1) -> None"))
      .def(
          "diagnose",
          [](const Matcher& matcher, const nb::bytes& text) {
            const Matcher::Refusal refusal = matcher.refusal(view(text));
            return nb::make_tuple(refusal.offset, to_bytes(refusal.expected), refusal.complete, refusal.is_tokenizable);
          },
          "text"_a, nb::sig("def diagnose(self, text: bytes) -> tuple[int, bytes, bool, bool]"))
      .def("completion", &Matcher::completion, nb::call_guard<WithoutGil>())
      .def("forced", &Matcher::forced, nb::call_guard<WithoutGil>())
      .def_prop_ro("budget_bound_at",
                   [](const Matcher& matcher) -> std::optional<std::int64_t> {
                     const std::int64_t step = matcher.budget_bound_at();
                     return step < 0 ? std::nullopt : std::optional(step);
                   })
      .def_prop_ro("is_accepting", &Matcher::accepting)
      .def_prop_ro("is_finished", &Matcher::finished)
      .def_prop_ro("step_count", &Matcher::step_count)
      .def_prop_ro(
          "state_key",
          [](const Matcher& matcher) {
            const auto [state, last, set] = matcher.place();
            return nb::make_tuple(state, last, set);
          },
          nb::sig("def state_key(self) -> tuple[int, int, int]"))
      .def_prop_ro("token_ids", &Matcher::token_ids);
  m.def("fill_batch", &fill_batch, "matchers"_a, "rows"_a.none(), "threads"_a,
        nb::sig("def fill_batch(matchers: Sequence[Matcher], rows: object, threads: int) -> None"));
  m.def("merge_states", &merge_states, "next"_a, "labels"_a, "states"_a, "classes"_a);
  m.def("apply_mask", &apply, "logits"_a, "type"_a, "rows"_a, "width"_a, "logit_stride"_a, "mask"_a, "mask_words"_a,
        "mask_stride"_a);
  m.def("few_allowed", &few, "mask"_a, "most"_a, "The ids that a mask row allows, if at most so many.",
        nb::sig("def few_allowed(mask: object, most: int) -> bytes | None"));
  m.def("allowed_sums", &sums, "numbers"_a, "mask"_a,
        "The sums of what a mask row allows of a float32 row, and of the rest.",
        nb::sig("def allowed_sums(numbers: object, mask: object) -> tuple[float, float]"));
  m.def("copy_masked", &copy, "logits"_a, "mask"_a, "to"_a,
        "Copy a float32 row, with -inf where a mask row has no bit.",
        nb::sig("def copy_masked(logits: object, mask: object, to: object) -> None"));
}
