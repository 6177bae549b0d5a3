// The translation of the core's errors to Python's.
#include <exception>

#include "base/error.h"
#include "bind/bindings.h"

namespace nb = nanobind;

namespace detent {
namespace {

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

// Python composes the sentence: detent.core_errors.from_core(kind, subject, given, limit) -> exception.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    try {
      const nb::object raised =
          nb::module_::import_("detent.core_errors")
              .attr("from_core")(kind_name(error.kind()), error.subject(), error.given(), error.limit());
      PyErr_SetObject(raised.type().ptr(), raised.ptr());
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace detent
