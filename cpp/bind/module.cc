// The Python module detent._core: conversions, checks of every number that crosses, and the release of the GIL. Every
// algorithm is in the static library.
#include "bind/bindings.h"

#include "base/fork_guard.h"

NB_MODULE(_core, m) {
  detent::ForkGuard::install();
  nanobind::set_leak_warnings(false);  // a module-level object of a user's script is no leak of this module
  detent::bind_errors();
  detent::bind_nodes(m);
  detent::bind_schemas(m);
  detent::bind_vocabulary(m);
  detent::bind_tokenizer(m);
  detent::bind_automaton(m);
  detent::bind_machines(m);
  detent::bind_matcher(m);
  detent::bind_logits(m);
}
