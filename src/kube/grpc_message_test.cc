#include "kube/grpc_message.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

std::string Frame(std::string_view message, char flag = 0) {
  const size_t size = message.size();
  std::string frame(1, flag);
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    frame += static_cast<char>(size >> shift & 0xFFU);
  }
  return frame + std::string(message);
}

TEST(GrpcMessageReader, CollectsAMessageFromPiecesOfAnySize) {
  for (const std::string& message : {std::string(), std::string("x"), std::string(300, 'm')}) {
    const std::string frame = Frame(message);
    for (size_t piece = 1; piece <= frame.size(); ++piece) {
      GrpcMessageReader reader(300);
      for (size_t at = 0; at < frame.size(); at += piece) {
        EXPECT_FALSE(reader.complete());
        ASSERT_TRUE(reader.Feed(std::string_view(frame).substr(at, piece)).ok());
      }
      ASSERT_TRUE(reader.complete());
      EXPECT_EQ(reader.Take(), message);
    }
  }
}

TEST(GrpcMessageReader, IsNotCompleteBeforeTheLastByte) {
  GrpcMessageReader reader(300);
  EXPECT_FALSE(reader.complete());
  EXPECT_TRUE(reader.Feed("").ok());
  EXPECT_TRUE(reader.Feed(Frame("abc").substr(0, 7)).ok());
  EXPECT_FALSE(reader.complete());
}

TEST(GrpcMessageReader, RefusesEverythingButOnePlainMessage) {
  struct Row {
    std::string bytes;
    absl::StatusCode code;
    std::string_view message;
  };
  const Row rows[] = {
      {Frame("abc", 1), absl::StatusCode::kDataLoss,
       "the answer is compressed, which was not offered"},
      {Frame("abc") + Frame("d"), absl::StatusCode::kDataLoss,
       "the answer to a single call has more than one message"},
      {Frame("") + "x", absl::StatusCode::kDataLoss,
       "the answer to a single call has more than one message"},
      {Frame(std::string(301, 'm')), absl::StatusCode::kResourceExhausted,
       "the pod list is 301 bytes, limit 300 bytes"},
      {std::string("\0\xFF\xFF\xFF\xFF", 5), absl::StatusCode::kResourceExhausted,
       "the pod list is 4294967295 bytes, limit 300 bytes"},
  };
  for (const Row& row : rows) {
    GrpcMessageReader reader(300);
    const Status status = reader.Feed(row.bytes);
    EXPECT_EQ(status.code(), row.code);
    EXPECT_EQ(status.message(), std::string(row.message));
  }
}

TEST(GrpcMessageReader, NamesLargeSizesInMebibytes) {
  GrpcMessageReader reader(size_t{64} << 20);
  EXPECT_EQ(reader.Feed(std::string("\0\x04\x00\x00\x01", 5)).message(),
            "the pod list is 65 MiB, limit 64 MiB");
}

}  // namespace
}  // namespace podgpu
