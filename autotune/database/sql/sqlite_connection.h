// An SQLite file, or memory, as an `SqlConnection`. The one header of the room's wall to SQLite.
//
// A file is shared by many processes. Once a call returns, its writes are on the disk
// (synchronous=FULL). Where the file system keeps locks and maps memory as a local one does, there
// is a write-ahead log (WAL): readers never wait. On a network file system, which cannot, the
// journal is rolled back instead: slower, and readers wait for writers.
#pragma once

#include <filesystem>

#include "autotune/database/sql/sql_connection.h"

namespace tilewright::autotune {

enum class SqliteAccess {
  read_write,  // made if it does not exist; brought to the present schema
  read,        // of the existing file
  immutable,   // likewise, without locks: for a folder in which nothing can be written
};
enum class SqliteJournal { log, rollback };

// Raises `SqlError`; `foreign` if the file is of another program or of a newer schema. An empty
// path is memory of this connection alone.
std::unique_ptr<SqlConnection> open_sqlite(const std::filesystem::path& path, SqliteAccess access,
                                           SqliteJournal journal);

// True if files there are reached over a network (NFS, SMB, 9P, Ceph, ...) or through a program
// (FUSE), where logs in shared memory do not work.
bool is_network_file_system(const std::filesystem::path& folder);
// By the number that statfs(2) gives its type.
bool is_network_file_system_type(std::uint64_t type);

}  // namespace tilewright::autotune
