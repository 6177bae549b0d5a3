#include "expr/utf8.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace detent {
namespace {

using Ranges = std::vector<CodePointRange>;

Ranges normalise(Ranges ranges) {
  for (const auto& [first, last] : ranges) {
    if (first > last) throw Error(ErrorKind::argument, "code_point_range", first, last);
    if (last > 0x10FFFF) throw Error(ErrorKind::argument, "code_point", last, 0x10FFFF);
  }
  std::sort(ranges.begin(), ranges.end());
  Ranges merged;
  const auto add = [&merged](std::uint32_t first, std::uint32_t last) {
    if (first > last) return;
    if (!merged.empty() && first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, last);
    } else {
      merged.emplace_back(first, last);
    }
  };
  for (const auto& [first, last] : ranges) {
    add(first, std::min<std::uint32_t>(last, 0xD7FF));
    add(std::max<std::uint32_t>(first, 0xE000), last);
  }
  return merged;
}

// The part of `ranges` inside [first, last], as offsets from `origin`.
Ranges slice(const Ranges& ranges, std::uint32_t first, std::uint32_t last, std::uint32_t origin) {
  Ranges part;
  auto it = std::lower_bound(ranges.begin(), ranges.end(), first,
                             [](const CodePointRange& range, std::uint32_t value) { return range.second < value; });
  for (; it != ranges.end() && it->first <= last; ++it) {
    part.emplace_back(std::max(it->first, first) - origin, std::min(it->second, last) - origin);
  }
  return part;
}

class Builder {
 public:
  // The characters of `ranges` that are written as a lead byte and `tail` continuation bytes; `first_lead` with
  // continuation bits of zero writes the value 0 of `ranges`.
  void lead(const Ranges& ranges, unsigned first_lead, unsigned last_lead, int tail) {
    group(ranges, first_lead, last_lead, 1u << (6 * tail), tail, parts_);
  }

  void ascii(const Ranges& ranges) {
    ByteSet set;
    for (const auto& [first, last] : slice(ranges, 0, 0x7F, 0)) set = set | ByteSet::range(first, last);
    if (!set.empty()) parts_.push_back(Node::bytes(set));
  }

  NodeRef finish() {
    for (const NodeRef& part : parts_) Node::mark_text(part);
    return Node::union_of(std::move(parts_));
  }

 private:
  // One alternative for each distinct set of continuations: the bytes that lead to it, then that set.
  void group(const Ranges& ranges, unsigned first_byte, unsigned last_byte, std::uint32_t span, int tail,
             std::vector<NodeRef>& parts) {
    std::map<Ranges, ByteSet> leads;
    for (unsigned byte = first_byte; byte <= last_byte; ++byte) {
      const std::uint32_t low = (byte - first_byte) * span;
      Ranges inner = slice(ranges, low, low + span - 1, low);
      if (!inner.empty()) leads[std::move(inner)].insert(static_cast<std::uint8_t>(byte));
    }
    for (const auto& [inner, set] : leads) parts.push_back(Node::concat({Node::bytes(set), continuation(inner, tail)}));
  }

  NodeRef continuation(const Ranges& ranges, int tail) {
    NodeRef& known = known_[tail][ranges];
    if (known.get()) return known;
    if (tail == 1) {
      ByteSet set;
      for (const auto& [first, last] : ranges) set = set | ByteSet::range(0x80 + first, 0x80 + last);
      return known = Node::bytes(set);
    }
    std::vector<NodeRef> parts;
    group(ranges, 0x80, 0xBF, 1u << (6 * (tail - 1)), tail - 1, parts);
    return known = Node::union_of(std::move(parts));
  }

  std::vector<NodeRef> parts_;
  std::map<Ranges, NodeRef> known_[4];
};

}  // namespace

NodeRef utf8_chars(Ranges ranges) {
  ranges = normalise(std::move(ranges));
  Builder builder;
  builder.ascii(ranges);
  // Each length starts where the shorter one ends, so that overlong forms never arise.
  builder.lead(slice(ranges, 0x80, 0x7FF, 0x80), 0xC2, 0xDF, 1);
  builder.lead(slice(ranges, 0x800, 0xFFFF, 0), 0xE0, 0xEF, 2);
  builder.lead(slice(ranges, 0x10000, 0x10FFFF, 0), 0xF0, 0xF4, 3);
  return builder.finish();
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return k < text.size() ? static_cast<std::uint8_t>(text[k]) : 0u; };
    const unsigned lead = at(i++);
    if (lead < 0x80) continue;
    if (lead < 0xC2 || lead > 0xF4) return false;
    const unsigned low = lead == 0xE0   ? 0xA0
                         : lead == 0xF0 ? 0x90
                                        : 0x80,
                   high = lead == 0xED   ? 0x9F
                          : lead == 0xF4 ? 0x8F
                                         : 0xBF;
    if (at(i) < low || at(i) > high) return false;
    const std::size_t end = i + (lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3);
    while (++i < end) {
      if (at(i) < 0x80 || at(i) > 0xBF) return false;
    }
  }
  return true;
}

}  // namespace detent
