// Guarantees for the command's process as a whole, whatever the subcommand: its three standard
// files are open, exceeding a limit on the size of files is an error of the write and not a crash,
// and output that could not be written is not taken for a success. A part of its own because it
// must be right before anything else runs and after all else has run.
#pragma once

namespace tilewright::tools {

// To be called first, with the subcommand's name. If stdin, stdout or stderr is closed, it is
// opened on /dev/null, so that no file opened later takes its number: reading gives nothing,
// writing to stderr is lost, writing to stdout fails. The signals of a broken pipe and of a file
// that would be too large are ignored: the write fails, and its caller continues or reports it.
void prepare_process(const char* command);

// True if the limit of the stack leaves enough to run; if not, an error is printed. A signal would
// end the program without a message.
bool has_stack();

// The status the process ends with, which without an error would be `status`: 1 with a line on
// stderr where something of stdout could not be written.
int finished_output(int status);

// Reports that memory ran out, with the current work. If a place that cannot raise ends the
// program, this is reported, and the status is 1 too. Never raises, needs no memory.
void say_out_of_memory() noexcept;

// On stderr: "tilewright: " and the text, as `print_error` prints it.
void say(const char* text) noexcept;
// On stderr, without control characters (terminal_text.h): names in it may come from files. Never
// raises, needs no memory.
void print_error(const char* text) noexcept;

}  // namespace tilewright::tools
