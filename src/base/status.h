// How podgpu reports failures, and how it stops on bugs.
//
// A failure of the outside world (a missing library, a kubelet that does not answer, a bad line in
// a file) is an absl::Status. Its message says what failed, where, and what helps; each caller adds
// a noun or nothing. A value that cannot be read is not a failure but an Absence (sample/value.h).
// A broken invariant is a bug: PODGPU_CHECK prints it and aborts, in every build, and the kubelet
// restarts the program. Any thread may use all of this.
#pragma once

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace podgpu {

using absl::Status;
using absl::StatusOr;

// Prints `condition`, file and line to standard error and aborts.  PODGPU_CHECK calls it, with the
// file's name without its folder: the program is the same in whichever folder it was compiled.
[[noreturn]] void CheckFailed(std::string_view condition, const char* file, int line);

}  // namespace podgpu

#define PODGPU_CHECK(condition)                                   \
  do {                                                            \
    if (!(condition)) [[unlikely]] {                              \
      ::podgpu::CheckFailed(#condition, __FILE_NAME__, __LINE__); \
    }                                                             \
  } while (false)

#define PODGPU_RETURN_IF_ERROR(expression)                                \
  do {                                                                    \
    if (::absl::Status failure_here = (expression); !failure_here.ok()) { \
      return failure_here;                                                \
    }                                                                     \
  } while (false)

#define PODGPU_CONCAT_INNER(a, b) a##b
#define PODGPU_CONCAT(a, b) PODGPU_CONCAT_INNER(a, b)

// PODGPU_ASSIGN_OR_RETURN(auto x, Make()): declares x from a StatusOr, or returns its status.
#define PODGPU_ASSIGN_OR_RETURN(declaration, expression) \
  PODGPU_ASSIGN_OR_RETURN_INNER(PODGPU_CONCAT(statusor_, __LINE__), declaration, expression)
#define PODGPU_ASSIGN_OR_RETURN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                          \
  if (!temporary.ok()) {                                                  \
    return std::move(temporary).status();                                 \
  }                                                                       \
  declaration = *std::move(temporary)
