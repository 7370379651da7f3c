// Name and password as HTTP's basic scheme carries them.
//
// Reads the value of an Authorization header; compares texts in a time that tells nothing of where
// they differ.  Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podgpu {

struct Credentials {
  std::string user;
  std::string password;
  bool operator==(const Credentials&) const = default;
};

// "Basic dXNlcjpwYXNz" (RFC 7617; the scheme in any case).  Nothing for whatever else.
std::optional<Credentials> ReadBasicCredentials(std::string_view authorization);

// Whether both are the same; takes the same time wherever they differ.
bool AreEqualInConstantTime(std::string_view a, std::string_view b);

}  // namespace podgpu
