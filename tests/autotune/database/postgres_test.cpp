// The database of a fleet, on a real server that these tests start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "autotune/database/exchange.h"
#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/postgres_server.h"
#include "tests/autotune/database/processes.h"
#include "tests/autotune/database/rows.h"

namespace tilewright::autotune::postgres_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TuningRow row_of(std::int64_t rows, double ns, std::int64_t date_ms = new_year_ms) {
  return {test_key(), test_configuration(rows), ok_observation({ns, ns + 1, ns + 2.125}, date_ms)};
}

std::string exported(TuningDatabase& database) {
  std::ostringstream out;
  export_rows(database, out);
  return out.str();
}

TEST(Postgres, AServerServesLikeAFile) {
  std::string why;
  std::unique_ptr<PostgresServer> server = PostgresServer::start(why);
  if (server == nullptr) GTEST_SKIP() << why;
  {
    SCOPED_TRACE("before there are tables, reading finds nothing");
    TuningDatabase database(server->url(), Access::read);
    EXPECT_FALSE(database.lookup(test_key()).best);
  }
  {
    SCOPED_TRACE("rows are stored, joined and found");
    TuningDatabase database(server->url());
    EXPECT_TRUE(database.store({row_of(64, 30), row_of(32, 10)}));
    EXPECT_TRUE(database.store({row_of(64, 31, new_year_ms + 1)}));
    EXPECT_TRUE(database.store(
        {TuningRow(test_key(), test_configuration(8), failed_observation(Status::crashed))}));
    Lookup found = TuningDatabase(server->url()).lookup(test_key());
    ASSERT_TRUE(found.best);
    EXPECT_EQ(*found.best, row_of(32, 10));
    EXPECT_EQ(database.rows(test_key()).size(), 3U);
    TuningKey newer = test_key();
    newer.compiler.set("sources", "def");
    EXPECT_EQ(database.lookup(newer).seeds.size(), 2U);
    EXPECT_EQ(database.why_miss(newer).differences[0].field, "compiler.sources");
    EXPECT_EQ(database.neighbours(test_key(512), 3).size(), 1U);
    EXPECT_THAT(database.diagnostics().messages, IsEmpty());
    EXPECT_THAT(database.diagnostics().place, HasSubstr("PostgreSQL 1"));
    EXPECT_TRUE(database.diagnostics().keeps);
  }
  {
    SCOPED_TRACE("rows travel between a server and a file");
    ScratchFolder folder;
    TuningDatabase remote(server->url()), file(folder.path() / "tuning.db");
    EXPECT_TRUE(merge(remote, file).is_complete);
    EXPECT_EQ(exported(file), exported(remote));
    file.store({row_of(128, 5)});
    EXPECT_TRUE(merge(file, remote).is_complete);
    EXPECT_EQ(exported(file), exported(remote));
    EXPECT_TRUE(remote.remove({row_of(128, 5)}));
    EXPECT_EQ(remote.counts().rows, 3);
    EXPECT_EQ(remote.clean(), 0);
  }
  {
    SCOPED_TRACE("many processes share it");
    std::vector<pid_t> children;
    for (int who = 0; who < 8; ++who)
      children.push_back(start([&, who] {
        TuningDatabase database(server->url());
        for (int i = 0; i < 10; ++i)
          if (!database.store(
                  {row_of(1000, 50, new_year_ms + 10 * who + i), row_of(2000 + 10 * who + i, 40)}))
            return 1;
        return database.diagnostics().failures == 0 ? 0 : 2;
      }));
    for (pid_t child : children) EXPECT_EQ(end_of(child), 0);
    TuningDatabase database(server->url());
    EXPECT_EQ(database.counts().rows, 3 + 80 + 1);
    for (const TuningRow& row : database.rows(test_key()))
      if (row.configuration == test_configuration(1000)) {
        EXPECT_EQ(row.observations[3].date_ms, new_year_ms + 76) << "the newest four";
      }
  }
  {
    SCOPED_TRACE("a server that goes away and comes back");
    TuningDatabase database(server->url());
    EXPECT_TRUE(database.lookup(test_key()).best);
    server->stop();
    EXPECT_FALSE(database.lookup(test_key()).best);
    EXPECT_FALSE(database.store({row_of(4, 1)}));
    EXPECT_EQ(database.lookup(test_key()).best->median_ns(), 2) << "from memory";
    EXPECT_FALSE(TuningDatabase(server->url()).lookup(test_key()).best);
    ASSERT_TRUE(server->start_again());
    EXPECT_TRUE(TuningDatabase(server->url()).lookup(test_key()).best);
  }
}

TEST(Postgres, WithoutAServerTheMemoryOfTheProcessServes) {
  TuningDatabase database("postgresql://nobody:secret@/none?host=/nowhere&password=secret");
  EXPECT_FALSE(database.store({row_of(64, 30)}));
  EXPECT_TRUE(database.lookup(test_key()).best);
  Diagnostics diagnostics = database.diagnostics();
  EXPECT_EQ(diagnostics.messages.size(), 1U);
  EXPECT_THAT(diagnostics.place + diagnostics.messages[0], testing::Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace tilewright::autotune::postgres_test
