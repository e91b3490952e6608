// libmicrohttpd. MHD_start_daemon is variadic, which Swift cannot call: options go in an array.
#pragma once
#include <microhttpd.h>
