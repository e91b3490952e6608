// libxml2: the listings of S3, which are XML.
#pragma once
#include <libxml/xmlreader.h>
