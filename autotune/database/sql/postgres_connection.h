// A PostgreSQL database as an `SqlConnection`: one that the machines of a fleet share.
//
// The tables are in the schema `tilewright` of the database, made by the first that connects and
// may. Rows from a server are checked like those of a file; whether a configuration exists is for
// the space to say (TuningDatabase::lookup).
#pragma once

#include "autotune/database/sql/access.h"
#include "autotune/database/sql/sql_connection.h"

namespace tilewright::autotune {

// `url`: postgresql://user@host/database?..., as libpq takes it. Waits five seconds for a server.
// Raises `SqlError`: `unavailable` if there is no server or no libpq.
std::unique_ptr<SqlConnection> open_postgres(const std::string& url, Access access);

}  // namespace tilewright::autotune
