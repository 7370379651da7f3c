#include "kube/grpc_message.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

// Rounded up, so a message above the limit never looks equal to it.
size_t ToMebibytes(size_t bytes) {
  constexpr size_t kMebibyte = size_t{1} << 20;
  return (bytes + kMebibyte - 1) / kMebibyte;
}

std::string SizeText(size_t bytes, bool in_mebibytes) {
  return in_mebibytes ? absl::StrFormat("%d MiB", ToMebibytes(bytes))
                      : absl::StrFormat("%d bytes", bytes);
}

}  // namespace

Status GrpcMessageReader::Feed(std::string_view bytes) {
  if (prefix_.size() < kPrefixBytes) {
    const size_t taken = std::min(kPrefixBytes - prefix_.size(), bytes.size());
    prefix_ += bytes.substr(0, taken);
    bytes.remove_prefix(taken);
    if (prefix_.size() == kPrefixBytes) {
      PODGPU_RETURN_IF_ERROR(ReadPrefix());
    }
  }
  if (bytes.size() > length_bytes_ - message_.size()) {
    return absl::DataLossError("the answer to a single call has more than one message");
  }
  message_ += bytes;
  return absl::OkStatus();
}

Status GrpcMessageReader::ReadPrefix() {
  if (prefix_[0] != 0) {
    return absl::DataLossError("the answer is compressed, which was not offered");
  }
  length_bytes_ = 0;
  for (size_t i = 1; i < kPrefixBytes; ++i) {
    length_bytes_ = length_bytes_ << 8U | static_cast<unsigned char>(prefix_[i]);
  }
  if (length_bytes_ > max_message_bytes_) {
    const bool in_mebibytes = max_message_bytes_ >= (size_t{1} << 20);
    return absl::ResourceExhaustedError(
        absl::StrFormat("the pod list is %s, limit %s", SizeText(length_bytes_, in_mebibytes),
                        SizeText(max_message_bytes_, in_mebibytes)));
  }
  message_.reserve(length_bytes_);
  return absl::OkStatus();
}

}  // namespace podgpu
