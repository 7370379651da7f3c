// The Asio and Beast types of server and client; for the sources of this room only.
//
// The executor is a concrete type, which avoids type-erased calls. A listener has a TCP port or a
// path; both give the same kind of stream. A stream ends an operation at its deadline with
// boost::beast::error::timeout.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/basic_stream.hpp>

namespace podgpu {

using ErrorCode = boost::system::error_code;
using StreamProtocol = boost::asio::generic::stream_protocol;
using Executor = boost::asio::io_context::executor_type;
using Acceptor = boost::asio::basic_socket_acceptor<StreamProtocol, Executor>;
using Socket = boost::asio::basic_stream_socket<StreamProtocol, Executor>;
using Stream = boost::beast::basic_stream<StreamProtocol, Executor>;
using TlsStream = boost::asio::ssl::stream<Stream&>;
using Timer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

}  // namespace podgpu
