// Encodes the lines of a file with a tokenizer.json, over and over, on one thread; prints JSON with
// the seconds of the fastest pass and the number of ids. tools/peers/tokenizer_speed.py runs it
// beside the library `tokenizers`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "models/tokenizer/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tokenizer_speed TOKENIZER_JSON TEXT_FILE PASSES\n");
    return 2;
  }
  const auto tokenizer = tilewright::Tokenizer::open(argv[1]);
  std::vector<std::string> lines;
  std::ifstream in(argv[2]);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  double best = 0;
  std::size_t ids = 0;
  for (int pass = 0; pass < std::atoi(argv[3]); ++pass) {
    const auto begin = std::chrono::steady_clock::now();
    ids = 0;
    for (const std::string& line : lines) ids += tokenizer.encode(line).size();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = pass == 0 ? seconds : std::min(best, seconds);
  }
  std::printf("{\"seconds\": %.9f, \"ids\": %zu}\n", best, ids);
  return 0;
}
