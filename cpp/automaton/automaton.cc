#include "automaton/automaton.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "automaton/conjuncts.h"
#include "automaton/node_compiler.h"
#include "automaton/shared_parts.h"
#include "automaton/slice_finder.h"
#include "automaton/tokenizable_search.h"
#include "expr/horizon.h"
#include "expr/parts.h"
#include "expr/row_scan.h"

namespace detent {

Automaton::Automaton(const NodeRef& root, const Writable& writable, std::uint32_t horizon, const Limits& limits,
                     std::shared_ptr<const CancelFlag> cancel)
    : Automaton(root, writable, horizon, limits, std::move(cancel),
                writable.texts ? nullptr : find_shared_part(root, writable.alphabet), nullptr) {}

Automaton::Automaton(const NodeRef& root, const Writable& writable, std::uint32_t horizon, const Limits& limits,
                     std::shared_ptr<const CancelFlag> cancel, const std::shared_ptr<const SharedPart>& known,
                     CompiledNodes* compiled)
    : meter_(limits),
      exprs_(known ? ExprSet(known->automaton.exprs_, known->automaton.compiled_, meter_) : ExprSet(meter_)),
      derivatives_(known ? Derivatives(exprs_, meter_, known->automaton.derivatives_) : Derivatives(exprs_, meter_)),
      liveness_(
          known ? Liveness(exprs_, derivatives_, meter_, known->automaton.liveness_, known->automaton.compiled_.exprs)
                : Liveness(exprs_, derivatives_, meter_)),
      live_loops_(exprs_, derivatives_, liveness_, meter_),
      alternatives_(exprs_, derivatives_, liveness_, live_loops_, meter_),
      completion_paths_(exprs_, derivatives_, liveness_, meter_),
      horizon_(horizon) {
  const ForkGuard guard;
  if (limits.leaves_room) meter_.limit_total(limits.compile_steps());
  meter_.set_cancel_flag(std::move(cancel));
  meter_.restart();
  if (!known && (writable.alphabet != ByteSet::all() || writable.texts)) {
    exprs_.set_alphabet(writable.alphabet, writable.texts ? writable.token_bytes : ByteSet::all());
  }
  NodeCompiler compiler(exprs_, liveness_, meter_, known ? known->nodes : CompiledNodes{});
  compiler.register_byte_sets(root);
  if (writable.texts) {
    compiler.register_byte_sets(*writable.texts);
    exprs_.bytes(writable.token_bytes);
  }
  derivatives_.freeze_byte_classes();
  connect();
  if (compiler.uses_all_texts()) {
    exprs_.set_utf8_star(compiler.compile(compiler.all_texts(), false));
    if (writable.alphabet != ByteSet::all()) exprs_.set_alphabet_texts(compiler.compile(compiler.all_texts(), true));
  }
  has_lists_ = root->has_distinct();
  start_ = compiler.compile(root, true);
  if (compiled) *compiled = compiler.nodes();
  if (compiler.has_json_strings()) all_texts_ = compiler.compile(compiler.all_texts(), false);
  if (writable.texts) {
    tokenizable_ = compiler.compile(*writable.texts, true);
    token_bytes_ = exprs_.repeat(exprs_.bytes(writable.token_bytes), 0, ExprSet::kUnbounded);
  }
  if (!liveness_.live(start_)) start_ = ExprSet::kEmpty;
  has_searches_ = limits.leaves_room && has_conjuncts_that_search(exprs_);
  add_state_slots();
  compiled_ = exprs_.extent();
  meter_.mark_base();
  meter_.restart();
}

Automaton::Automaton(Automaton& other) : Automaton(other, std::lock_guard(other.mutex_)) {}

Automaton::Automaton(Automaton& other, const std::lock_guard<std::mutex>&)
    : meter_(other.meter_.limits()),
      exprs_(other.exprs_, other.compiled_, meter_),
      derivatives_(exprs_, meter_, other.derivatives_),
      liveness_(exprs_, derivatives_, meter_, other.liveness_, other.compiled_.exprs),
      live_loops_(exprs_, derivatives_, liveness_, meter_),
      alternatives_(exprs_, derivatives_, liveness_, live_loops_, meter_),
      completion_paths_(exprs_, derivatives_, liveness_, meter_),
      horizon_(other.horizon_),
      has_searches_(other.has_searches_),
      has_lists_(other.has_lists_),
      compiled_(other.compiled_),
      added_before_(other.added_before_ + other.exprs_.size() - other.compiled_.exprs),
      start_(other.start_),
      tokenizable_(other.tokenizable_),
      token_bytes_(other.token_bytes_),
      all_texts_(other.all_texts_) {
  connect();
  add_state_slots();
  meter_.mark_base();
  meter_.begin_decoding();
}

void Automaton::connect() {
  derivatives_.set_live([this](ExprId id) { return liveness_.live(id); },
                        [this](ExprId id) { return live_loops_.find(id).bytes; });
  liveness_.set_padded_bound([this](ExprId id) -> std::optional<std::uint32_t> {
    const LiveLoops::Loop loop = live_loops_.find_padded(id);
    return loop.bytes.empty() ? std::nullopt : std::optional(loop.completion_bound);
  });
}

// Locks `other`, the older automaton, and then this one: with one order of locking, no two threads wait for each other.
void Automaton::adopt(Automaton& other, std::span<ExprId> states) {
  const ForkGuard guard;
  const std::lock_guard lock_of_other(other.mutex_);
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const std::int64_t before = meter_.bytes();
  exprs_.adopt(other.exprs_, states);
  add_state_slots();
  meter_.extend_base(before);
  note_work();
}

bool Automaton::has_grown() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return meter_.has_grown();
}

void Automaton::add_state_slots() {
  while (slots_.size() < exprs_.size()) slots_.emplace_back();
}

const ExprId* Automaton::publish(ExprId state, std::int64_t max_steps) {
  const auto compute = [&](ExprSet&, Derivatives&, Liveness&) -> const ExprId* {
    if (const ExprId* known = slots_[state.value].row.load(std::memory_order_relaxed)) return known;
    ExprId* row = derivatives_.row(state);
    live_loops_.mark_live(state, row);
    ExprId last = ExprSet::kEmpty;
    bool last_is_live = false;
    any_successor(row, class_count(), [&](std::uint32_t c) {
      const ExprId next = row[c];
      if (next != last) {
        last = next;
        last_is_live = liveness_.live(next);
      }
      if (!last_is_live) row[c] = ExprSet::kEmpty;
      return false;
    });
    add_state_slots();
    slots_[state.value].row.store(row, std::memory_order_release);
    return row;
  };
  return edit(compute, max_steps);
}

// The first search looks for a completion of bytes that are tokens; most states have one. The second search allows all
// concatenations of tokens. States that call rules skip the first search: where a grammar needs a byte that is no
// token, a search finds this out only after it has tabled all rules.
bool Automaton::search_tokenizable(ExprId state) {
  const bool found =
      has_lists_ ? has_tokenizable_completion(*this, state, tokenizable_)
                 : edit([this, state](ExprSet& exprs, Derivatives&, Liveness& liveness) {
                     return (!exprs[state].has_rule && liveness.live(exprs.intersection({state, token_bytes_}))) ||
                            liveness.live(exprs.intersection({state, tokenizable_}));
                   });
  slots_[state.value].is_tokenizable.store(found ? Verdict::yes : Verdict::no, std::memory_order_relaxed);
  return found;
}

// Counts are not clamped where the text may need bytes that are no tokens: there a count beyond the horizon can decide
// whether the vocabulary can write the rest of the text.
ExprId Automaton::clamp(ExprId state, Horizon horizon) {
  const int index = static_cast<int>(horizon);
  const std::uint32_t length = horizon == Horizon::token ? horizon_ : std::min(kNear, horizon_);
  const ExprId clamped = edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    if (!stays_tokenizable(state)) return state;
    // A mask for Horizon::token is stored together with completion bounds, so its state keeps the bounds of its length.
    const ExprId wide = horizon == Horizon::near ? drop_length_bounds(exprs, state, length) : state;
    return clamp_counts(exprs, wide, length, clamped_parts_[index]);
  });
  slots_[state.value].clamped[index].store(clamped.value, std::memory_order_release);
  return clamped;
}

ExprId Automaton::advance(ExprId state, std::string_view text) {
  if (!has_lists_) {
    for (char byte : text) {
      if (state == ExprSet::kEmpty) return state;
      state = row(state)[class_of()[static_cast<std::uint8_t>(byte)]];
    }
    return state;
  }
  TextId read;
  if (exprs_[state].op == Op::remembered) {
    read = exprs_[state].text();
    state = exprs_[state].part();
  }
  for (char byte : text) {
    if (state == ExprSet::kEmpty) return state;
    const ExprId before = state;
    state = row(state)[class_of()[static_cast<std::uint8_t>(byte)]];
    if (!exprs_[state].has_open_item && !exprs_[state].has_closed_item) {
      read = {};
      continue;
    }
    edit([&](ExprSet& exprs, Derivatives&, Liveness& liveness) {
      if (exprs[state].has_closed_item) {
        state = exprs.bind(before, state, read);
        for (ExprId list : exprs.take_bound_lists()) liveness.note_next_item(list);
        if (!liveness.live(state)) state = ExprSet::kEmpty;
      }
      read = exprs[state].has_open_item ? exprs.item_texts().append(read, static_cast<std::uint8_t>(byte)) : TextId{};
      return 0;
    });
  }
  if (!exprs_[state].has_open_item) return state;
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.remembered(state, read); });
}

std::string Automaton::item(ExprId state) {
  if (exprs_[state].op != Op::remembered) return {};
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.item_texts().text(exprs_[state].text()); });
}

std::optional<std::string> Automaton::item_after(ExprId any_text, std::string item, std::string_view text) {
  for (char byte : text) {
    any_text = row(any_text)[class_of()[static_cast<std::uint8_t>(byte)]];
    if (any_text == ExprSet::kEmpty || exprs_[any_text].has_closed_item) return std::nullopt;
    if (exprs_[any_text].has_open_item) {
      item += byte;
    } else {
      item.clear();
    }
  }
  return item;
}

bool Automaton::has_one_open_list(ExprId any_text) {
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.has_one_open_list(any_text); });
}

ExprId Automaton::with_item(ExprId any_text, std::string_view item) {
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    TextId text;
    for (char byte : item) text = exprs.item_texts().append(text, static_cast<std::uint8_t>(byte));
    return exprs.remembered(any_text, text);
  });
}

bool Automaton::may_lack_keys(ExprId state) {
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) { return exprs.closed_list_may_lack_keys(state); });
}

bool Automaton::is_in_free_string(ExprId state) {
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    return std::ranges::any_of(operands_of(exprs, state, Op::union_of), [&](ExprId alternative) {
      const Expr& head = exprs[split_first(exprs, alternative).first];
      return head.op == Op::json_escaped && exprs[head.part()].infinite;
    });
  });
}

ExprId Automaton::after_literal(ExprId state, std::string& text) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  const bool has_rest = exprs_[state].op == Op::concat;
  text = exprs_.text_of(has_rest ? exprs_[state].first() : state);
  return has_rest ? exprs_[state].second() : ExprSet::kEpsilon;
}

// The one state that all bytes of the alphabet from `low` to `high` lead to, or the dead state.
ExprId Automaton::common_successor(ExprId state, unsigned low, unsigned high) {
  if (state == ExprSet::kEmpty) return state;
  const ExprId* next = row(state);
  ExprId common = ExprSet::kEmpty;
  for (unsigned byte = low; byte <= high; ++byte) {
    if (!exprs_.alphabet().contains(static_cast<std::uint8_t>(byte))) continue;
    const ExprId to = next[class_of()[byte]];
    if (to == ExprSet::kEmpty || (common != ExprSet::kEmpty && common != to)) return ExprSet::kEmpty;
    common = to;
  }
  return common;
}

// Well-formed UTF-8 (Unicode 15, table 3-7): the lead byte restricts the range of the second byte.
ExprId Automaton::after_character(ExprId state, std::uint8_t lead) {
  ExprId after = row(state)[class_of()[lead]];
  if (lead < 0x80) return after;
  if (lead >= 0xF0) {
    after = common_successor(after, lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    after = common_successor(after, 0x80, 0xBF);
  } else if (lead >= 0xE0) {
    after = common_successor(after, lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
  }
  return common_successor(after, 0x80, 0xBF);
}

const ByteSet& Automaton::find_self_loop_bytes(ExprId state) {
  ByteSet set;
  for (unsigned lead = 0; lead <= 0xF4; ++lead) {
    const bool is_lead = lead < 0x80 || lead >= 0xC2;
    if (is_lead && after_character(state, static_cast<std::uint8_t>(lead)) == state) {
      set.insert(static_cast<std::uint8_t>(lead));
    }
  }
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  if (const ByteSet* known = slots_[state.value].self_loop_bytes.load(std::memory_order_relaxed)) return *known;
  meter_.allocate(sizeof(ByteSet));
  loop_sets_.push_back(set);
  slots_[state.value].self_loop_bytes.store(&loop_sets_.back(), std::memory_order_release);
  return loop_sets_.back();
}

const Automaton::LiveBytes& Automaton::find_live_bytes(ExprId state) {
  return *edit([&](ExprSet&, Derivatives&, Liveness&) {
    // Without guards, as in GBNF, a state may have many more alternatives than names and keywords: walks must not pass
    // them by while a language that needs too many states is to be refused. A padding is proved for all texts at once.
    const LiveLoops::Loop loop = exprs_[state].has_guard ? live_loops_.find(state) : live_loops_.find_padded(state);
    const auto [found, is_new] = live_sets_.insert({loop.bytes, loop.completion_bound});
    if (is_new) meter_.allocate(sizeof(LiveBytes) + 40);
    slots_[state.value].live_bytes.store(&*found, std::memory_order_release);
    return &*found;
  });
}

LiveLoops::Padded Automaton::padded(ExprId texts, const std::vector<ExprId>& excluded) {
  return edit([&](ExprSet& exprs, Derivatives&, Liveness&) {
    return live_loops_.find_padded(operands_of(exprs, texts, Op::intersection), excluded);
  });
}

std::optional<std::uint32_t> Automaton::bound_inside_string(ExprId state) {
  return edit([&](ExprSet&, Derivatives&, Liveness&) { return live_loops_.bound_after_any_text(state); });
}

std::optional<std::uint32_t> Automaton::bound_after_characters(ExprId texts) {
  return edit([&](ExprSet&, Derivatives&, Liveness&) { return live_loops_.bound_after_characters(texts); });
}

std::vector<AlternativeId> Automaton::split(ExprId state) {
  return edit([&](ExprSet&, Derivatives&, Liveness&) {
    const std::span<const AlternativeId> ids = alternatives_.split(state);
    return std::vector(ids.begin(), ids.end());
  });
}

AlternativeId Automaton::nearest_alternative(ExprId state) {
  return edit([&](ExprSet&, Derivatives&, Liveness&) { return alternatives_.nearest(state); });
}

std::optional<AlternativePath> Automaton::descend(AlternativeId from, std::span<const Letter> letters,
                                                  const std::function<bool(AlternativeId)>& is_end,
                                                  std::int64_t max_steps) {
  return edit(
      [&](ExprSet&, Derivatives&, Liveness&) { return alternatives_.descend(from, letters, is_end, max_steps); },
      max_steps);
}

void Automaton::drop_included(std::vector<AlternativeId>& set) {
  edit([&](ExprSet&, Derivatives&, Liveness&) {
    alternatives_.drop_included(set);
    return 0;
  });
}

void Automaton::drop_included_heads(AlternativeId from, std::vector<AlternativeId>& set) {
  edit([&](ExprSet&, Derivatives&, Liveness&) {
    alternatives_.drop_included_heads(from, set);
    return 0;
  });
}

const Alternative& Automaton::expand(AlternativeId id, std::int64_t max_steps) {
  return *edit([&](ExprSet&, Derivatives&, Liveness&) { return &alternatives_.expand(id); }, max_steps);
}

const AlternativeLoop& Automaton::make_loop(AlternativeId id) {
  return *edit([&](ExprSet&, Derivatives&, Liveness&) { return &alternatives_.make_loop(id); });
}

std::uint32_t Automaton::search_completion_bound(ExprId state) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  const std::uint32_t bound = liveness_.bound(state);
  note_work();
  return bound;
}

bool Automaton::is_text(ExprId state) {
  return exprs_[state].is_text ||
         edit([&](ExprSet&, Derivatives&, Liveness& liveness) { return liveness.text_proof().is_text(state); });
}

void Automaton::add_work(std::int64_t steps) {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  meter_.restart();
  meter_.step(steps);
  note_work();
}

std::int64_t Automaton::state_count() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return meter_.states();
}

std::int64_t Automaton::memory_bytes() {
  const ForkGuard guard;
  const std::lock_guard lock(mutex_);
  return meter_.bytes();
}

}  // namespace detent
