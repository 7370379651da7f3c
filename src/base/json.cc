// Boost.JSON itself: the library is made of headers, and is compiled here, once.
#include <boost/json/src.hpp>
