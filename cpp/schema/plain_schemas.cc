#include "schema/plain_schemas.h"

#include "expr/node_codec.h"
#include "schema/plain_reader.h"

namespace detent {
namespace {

constexpr std::size_t kMaxCached = 2000;
constexpr std::size_t kMaxCachedText = 1000;        // the text of a schema or name
constexpr std::size_t kMaxCachedNode = 1UL << 14U;  // the bytes of an expression

}  // namespace

std::optional<NodeRef> NodeCache::node(std::string_view schema, const std::string& uri) {
  std::string key = uri + std::string(schema);
  if (const auto found = nodes_.find(key); found != nodes_.end()) return found->second;
  std::optional<NodeRef> made = make_(schema, uri);
  if (schema.size() > kMaxCachedText || (made && encode_node(*made).size() > kMaxCachedNode)) return made;
  if (nodes_.size() >= kMaxCached) nodes_.clear();
  nodes_.emplace(std::move(key), made);
  return made;
}

PlainSchemas::PlainSchemas(PlainNodes nodes, MemberRoles roles, const std::vector<std::string>& formats,
                           Dialects dialects, NodeCache constrained, NodeCache closed, Intended intended)
    : nodes_(std::move(nodes)),
      roles_(std::move(roles)),
      formats_(formats.begin(), formats.end()),
      dialects_(std::move(dialects)),
      constrained_(std::move(constrained)),
      closed_(std::move(closed)),
      make_intended_(std::move(intended)) {}

std::unique_ptr<PlainReader> PlainSchemas::open(std::string text, std::size_t max_schemas) {
  return PlainReader::open(*this, std::move(text), max_schemas);
}

std::string PlainSchemas::intended(std::string_view name) {
  if (name.size() > kMaxCachedText) return make_intended_(name);
  std::string key(name);
  if (const auto known = intended_.find(key); known != intended_.end()) return known->second;
  std::string found = make_intended_(name);
  if (intended_.size() >= kMaxCached) intended_.clear();
  intended_.emplace(std::move(key), found);
  return found;
}

}  // namespace detent
