// PostgreSQL's client library, found at run time: nothing is linked, and a machine without it only
// lacks the databases of servers.
#pragma once

// As the library's header names them.
struct pg_conn;
struct pg_result;
using PGconn = pg_conn;
using PGresult = pg_result;
using PQnoticeProcessor = void (*)(void* context, const char* text);

namespace tilewright::autotune {

struct Libpq {
#define TILEWRIGHT_LIBPQ(result, name, parameters) result(*name) parameters = nullptr;
#include "autotune/database/sql/libpq.def"
#undef TILEWRIGHT_LIBPQ
};

// Null where libpq.so.5 is missing or lacks a function. Found once.
const Libpq* libpq();

}  // namespace tilewright::autotune
