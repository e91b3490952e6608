// zlib: gzip for playlists and lists.
#pragma once
#include <zlib.h>
