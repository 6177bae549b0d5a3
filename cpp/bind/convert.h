// Conversions between Python objects and the core's types.
#pragma once

#include <cxxabi.h>
#include <nanobind/nanobind.h>
#include <unistd.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_set.h"

namespace detent {

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

// The bytes of a Python object, which must outlive the view.
std::string_view view(const nanobind::bytes& text);
nanobind::bytes to_bytes(const std::string& text);
ByteSet byte_set(const nanobind::bytes& values);
nanobind::bytes to_bytes(const ByteSet& set);

// Unsigned 32-bit numbers cross as the bytes of an array of them.
std::vector<std::uint32_t> numbers(const nanobind::bytes& raw);
nanobind::bytes to_bytes(const std::vector<std::uint32_t>& values);

// Converts any integer object. For other objects and numbers out of range, detent.matcher makes the error message.
std::int64_t to_index(nanobind::handle value);

// The mask rows of a Python object: int32 there, unsigned here. It uses the buffer protocol, which costs least. For
// other objects, detent.mask.check_mask makes an array (of torch tensors) or an error that names what was found.
class MaskBuffer {
 public:
  MaskBuffer(nanobind::handle object, std::initializer_list<std::size_t> shape);
  ~MaskBuffer();
  MaskBuffer(const MaskBuffer&) = delete;
  MaskBuffer& operator=(const MaskBuffer&) = delete;

  std::uint32_t* words() const { return static_cast<std::uint32_t*>(view_.buf); }

 private:
  bool acquire(std::initializer_list<std::size_t> shape);

  nanobind::object object_;
  Py_buffer view_{};
  bool held_ = false;
};

constexpr std::string_view kBytes = "Bbc";
constexpr std::string_view kInt32 = "il";
constexpr std::string_view kInt64 = "lq";
constexpr std::string_view kFloat32 = "f";

// A C-contiguous array of numbers of one type. `formats` are the letters that the type may have (struct module).
class ArrayBuffer {
 public:
  ArrayBuffer(nanobind::handle object, std::string_view formats, std::size_t item_bytes, int flags = 0);
  ~ArrayBuffer() { PyBuffer_Release(&view_); }
  ArrayBuffer(const ArrayBuffer&) = delete;
  ArrayBuffer& operator=(const ArrayBuffer&) = delete;

  template <class T>
  T* data() const {
    return static_cast<T*>(view_.buf);
  }
  std::size_t size() const { return static_cast<std::size_t>(view_.len / view_.itemsize); }
  bool is_readonly() const { return view_.readonly != 0; }
  template <class T>
  std::span<const T> span() const {
    return {data<const T>(), size()};
  }

 private:
  Py_buffer view_{};
};

// A matrix whose rows are contiguous, or a vector as a matrix of one row. Items may be of any type of `item_bytes`
// bytes.
class MatrixBuffer {
 public:
  MatrixBuffer(nanobind::handle object, std::size_t item_bytes, int flags = 0);
  ~MatrixBuffer() { PyBuffer_Release(&view_); }
  MatrixBuffer(const MatrixBuffer&) = delete;
  MatrixBuffer& operator=(const MatrixBuffer&) = delete;

  void* data() const { return view_.buf; }
  std::size_t rows() const { return view_.ndim == 2 ? static_cast<std::size_t>(view_.shape[0]) : 1; }
  std::size_t width() const { return static_cast<std::size_t>(view_.shape[view_.ndim - 1]); }
  // From one row to the next, in items.
  std::size_t row_stride() const {
    return view_.ndim == 2 ? static_cast<std::size_t>(view_.strides[0] / view_.itemsize) : 0;
  }

 private:
  Py_buffer view_{};
};

// An array whose owner is C++: the last owner releases it, on any thread.
std::shared_ptr<const ArrayBuffer> shared_array(nanobind::handle object, std::string_view formats,
                                                std::size_t item_bytes);

}  // namespace detent
