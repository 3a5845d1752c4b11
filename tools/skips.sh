#!/usr/bin/env bash
# Prints the tests that were skipped as one table, and fails where a reason is not in the list.
# usage: skips.sh LIST FILE...
#   LIST   tests/skips.txt
#   FILE   *.xml: what `ctest --output-junit` wrote; another: what a test program printed
# A program that is one entry of ctest passes though tests in it were skipped: those are found in what
# it printed.
set -euo pipefail
list=$1
shift
for file in "$list" "$@"; do
  [ -s "$file" ] || { echo "skips: there is nothing in $file" >&2; exit 2; }
done

awk -v list="$list" '
function unescaped(text) {
  gsub(/&lt;/, "<", text); gsub(/&gt;/, ">", text); gsub(/&quot;/, "\"", text)
  gsub(/&apos;/, "\047", text); gsub(/&amp;/, "\\&", text)
  return text
}
function row_of(reason,    i) {
  for (i = 1; i <= rows; ++i)
    if (reason ~ reasons[i] && entry ~ entries[i]) return i
  return 0
}
function note(reason,    i, key) {
  i = row_of(reason)
  if (!i) is_unlisted = 1
  key = sprintf("%-20s  %s", i ? kinds[i] : "NOT LISTED", reason)
  ++total
  ++number[key]
  if (entry != last_entry[key] && ++examples[key] <= 2)
    shown[key] = shown[key] (examples[key] > 1 ? ", " : "") entry
  last_entry[key] = entry
}
# What an entry printed. gtest says "FILE:LINE: Skipped" and then the reason. Where ctest skips the
# whole entry, by its status or by what it printed, the reason is a line that is listed, or the last.
function look_at(line) {
  if (is_reason) { note(line == "" ? "no reason is given" : line); is_noted = 1 }
  is_reason = line ~ /: Skipped$/
  if (ctest_says != "" && line != "" && !is_known) { said = line; is_known = row_of(line) > 0 }
}
function end_of_entry() {
  if (ctest_says != "" && !is_noted) note(said == "" ? ctest_says : said)
  ctest_says = said = ""
  is_reason = is_noted = is_known = 0
}
BEGIN {
  while ((getline line < list) > 0) {
    if (line ~ /^(#|$)/) continue
    parts = split(line, part, / \| /)
    kinds[++rows] = part[1]
    reasons[rows] = "^(" part[2] ")$"
    entries[rows] = parts > 2 ? "^(" part[3] ")$" : "."
  }
}
FNR == 1 {
  end_of_entry()
  entry = FILENAME
  sub(/.*\//, "", entry)
}
FILENAME !~ /\.xml$/ { look_at($0); next }
/^\t<testcase name="/ {
  end_of_entry()
  match($0, /name="[^"]*"/)
  entry = unescaped(substr($0, RSTART + 6, RLENGTH - 7))
  ++tests
  if ($0 ~ / status="disabled"/) ctest_says = "disabled"
}
/^\t\t<skipped message="/ { ctest_says = $0; gsub(/.*message="|"\/>.*/, "", ctest_says) }
sub(/^\t\t<system-out>/, "") { is_output = 1 }
is_output {
  is_output = !sub(/<\/system-out>$/, "")
  look_at(unescaped($0))
}
END {
  end_of_entry()
  for (key in number) printf "%5d  %s  (%s)\n", number[key], key, shown[key] | "sort -k 2"
  close("sort -k 2")
  printf "%d entries of ctest; %d skips\n", tests, total
  if (is_unlisted) print "skips: a reason is not in " list
  exit is_unlisted
}' "$@"
